"""The command as a process, with the time and the memory that it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

JOSTLE = str(Path(sys.executable).with_name("jostle"))
MEASURING = str(Path(__file__).with_name("measuring_process.py"))
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
PATIENCE = 600  # seconds, on a slow and busy machine


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    out: str
    err: str
    code: int
    seconds: float  # of the processor, whatever else the machine does
    peak: int  # bytes of memory, of the largest of its processes


def run(*arguments: str, cwd: Path) -> Ran:
    with tempfile.NamedTemporaryFile("r") as measured:
        call = [sys.executable, "-S", MEASURING, measured.name, JOSTLE, *arguments]
        done = subprocess.run(call, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE)
        return Ran(done.stdout, done.stderr, **json.load(measured))
