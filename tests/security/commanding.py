"""The command as a process, with the time and the memory that it took."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

JOSTLE = str(Path(sys.executable).with_name("jostle"))
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str
    seconds: float
    peak: int  # bytes of memory, of the largest of its processes


def run(*arguments: str, cwd: Path) -> Ran:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        begun = time.perf_counter()
        process = subprocess.Popen([JOSTLE, *arguments], cwd=cwd, env=ENVIRONMENT, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # or Popen would look for it
        seconds = time.perf_counter() - begun
        out.seek(0)
        err.seek(0)
        return Ran(process.returncode, out.read(), err.read(), seconds, used.ru_maxrss * 1024)
