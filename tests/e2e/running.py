"""Ways to run the `jostle` command and to see how it ended."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.cli.run_command import run_command

JOSTLE = str(Path(sys.executable).with_name("jostle"))
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
PATIENCE = 600  # seconds for one process, also where many others run beside
NOT_SHOWN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)  # by Python's own choice


@dataclass(frozen=True)
class Ended:
    """How one run of the command ended."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        (line,) = self.out.splitlines()
        told = json.loads(line)
        assert isinstance(told, dict)
        return told


def in_this_process(*arguments: str) -> Ended:
    """The command without the seconds that importing torch takes; warnings go to its stderr.

    Nor are findings confirmed unless that is asked for, because a new process takes these seconds too.
    """
    if arguments[:1] == ("fuzz",) and not {"--confirm", "--no-confirm"} & set(arguments):
        arguments = (*arguments, "--no-confirm")
    out, err = io.StringIO(), io.StringIO()
    before, argv, path = signal.getsignal(signal.SIGTERM), sys.argv, list(sys.path)
    sys.argv = ["jostle", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("default")
            for category in NOT_SHOWN:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = lambda message, *_, **__: print(f"warned: {message}", file=err)
            code = run_command()
    finally:
        signal.signal(signal.SIGTERM, before)
        sys.argv, sys.path[:] = argv, path
    return Ended(code, out.getvalue(), err.getvalue())


def as_a_process(*arguments: str, cwd: Path | None = None) -> Ended:
    """The command as a user starts it."""
    done = subprocess.run(
        [JOSTLE, *arguments], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE
    )
    return Ended(done.returncode, done.stdout, done.stderr)
