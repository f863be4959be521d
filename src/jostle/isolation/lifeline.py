"""The first thing that a worker runs: it ends when the process that started it does, whatever it is busy with.

A worker runs this file with `PARENT whole|bare MODULE ARGUMENT...` and becomes the main of that module. Only the
standard library is imported before, because all else takes seconds in which a campaign may be killed.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
import threading
import time
import types
from pathlib import Path

PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36  # of prctl
BETWEEN_LOOKS = 0.2  # seconds, where the kernel does not tell that a parent died
WHOLE, BARE = "whole", "bare"  # our package as it is, or without its __init__, which needs torch
PACKAGE = Path(__file__).parents[1]


def command(interpreter: str, package: str, module: str) -> list[str]:
    """A program that runs a module of ours; -P, because a file here must not stand in for a library."""
    return [interpreter, "-P", str(Path(__file__)), str(os.getpid()), package, module]


def die_with(parent: int, number: int = signal.SIGKILL) -> None:
    """This process ends, or gets that signal on Linux, when the one that started it dies; it must be called first."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, number)
    else:
        threading.Thread(target=_end_without, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)  # it died before


def adopt_orphans() -> None:
    """Descendants of this process whose parents die become its children (Linux)."""
    ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1)


def _end_without(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(BETWEEN_LOOKS)
    os._exit(1)


def main() -> None:
    parent, package, module, *arguments = sys.argv[1:]
    die_with(int(parent))
    if package == BARE:
        stand_in = types.ModuleType(PACKAGE.name)
        stand_in.__path__ = [str(PACKAGE)]
        sys.modules[PACKAGE.name] = stand_in
    sys.argv = [module, *arguments]
    importlib.import_module(module).main()


if __name__ == "__main__":
    main()
