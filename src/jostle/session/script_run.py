"""A script of a finding, run in a process of its own to see how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

BETWEEN_LOOKS = 0.2  # seconds, after which somebody may have asked to stop


@dataclass(frozen=True)
class ScriptRun:
    """How a script ended."""

    code: int | None  # negative for a signal; None if it did not end in time
    errors: str = ""  # what it wrote of them


def run_script(call: Sequence[str], patience: float, stopped: Callable[[], bool]) -> ScriptRun | None:
    """What comes of a script within so many seconds; None if somebody asked to stop before.

    Ctrl-C does not reach the script: it would end it as a defect does.
    """
    end = time.monotonic() + patience
    with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            while time.monotonic() < end:
                if stopped():
                    return None
                with suppress(subprocess.TimeoutExpired):
                    _, errors = process.communicate(timeout=BETWEEN_LOOKS)
                    return ScriptRun(process.returncode, errors.decode(errors="replace"))
            return ScriptRun(None)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
