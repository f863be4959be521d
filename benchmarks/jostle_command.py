"""The `jostle` command as a user starts it, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from os import environ
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[1]
THREADS = "OMP_NUM_THREADS"  # what torch takes the number of its threads from
NOTHING_FOUND, FOUND = 0, 1  # exit codes of a campaign that ran


def jostle(*arguments: str) -> list[str]:
    """The command line of what is installed as `jostle`, with this Python."""
    declared = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
    module, function = declared["project"]["scripts"]["jostle"].split(":")
    script = f"import sys; from {module} import {function}; sys.argv[0] = 'jostle'; sys.exit({function}())"
    return [sys.executable, "-c", script, *arguments]


def fuzz_summary(arguments: Sequence[str], threads: int | None) -> dict[str, Any]:
    """What `jostle fuzz --json` says of a campaign in a folder that is gone afterwards; None leaves threads open."""
    variables = {name: value for name, value in environ.items() if name != THREADS}
    variables |= {} if threads is None else {THREADS: str(threads)}
    with tempfile.TemporaryDirectory() as folder:
        command = jostle("fuzz", *arguments, "--out", str(Path(folder) / "campaign"), "--json")
        done = subprocess.run(command, env=variables, capture_output=True, text=True, cwd=folder)
    if done.returncode not in (NOTHING_FOUND, FOUND):
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary
