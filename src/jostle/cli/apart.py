"""Commands that load a model from a file do so in a process of their own, which it may take with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec

import psutil

from jostle.errors import ModelRefused
from jostle.isolation.worker import memory_of, signal_name
from jostle.recipes.isolating import MEMORY_SHARE, is_file

APART = "JOSTLE_APART"  # in the environment of the process that does the work
GLANCE = 0.1  # seconds
Parameters = ParamSpec("Parameters")
# The command's arguments -> the models it loads
Specs = Callable[..., Iterable[str]]


def apart_if_from_file(specs: Specs) -> Callable[[Callable[Parameters, Any]], Callable[Parameters, Any]]:
    """A command that runs again in a process of its own if one of its models comes from a file."""

    def decorate(command: Callable[Parameters, Any]) -> Callable[Parameters, Any]:
        @wraps(command)
        def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
            if APART in os.environ or not any(map(is_file, specs(**kwargs))):
                return command(*args, **kwargs)
            return _again()

        return run

    return decorate


def _again() -> int:
    """This very command in another process; off a terminal its output is passed on when it ends."""
    # -P, because a file in the working folder must not stand in for a library.
    call = [sys.executable, "-P", "-c", "from jostle.cli.main import main; main()", *sys.argv[1:]]
    pipe = None if sys.stderr.isatty() else subprocess.PIPE
    child = subprocess.Popen(call, env={**os.environ, APART: "1"}, stdout=pipe, stderr=pipe, text=True)
    before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        out, err = _watched(child)
    finally:
        signal.signal(signal.SIGTERM, before)
    print(out or "", end="")
    if child.returncode < 0:
        name = signal_name(-child.returncode)
        raise ModelRefused(f"the model ended the process that ran it ({name}): check where the file comes from")
    print(err or "", end="", file=sys.stderr)
    return child.returncode


def _watched(child: subprocess.Popen[str]) -> tuple[str | None, str | None]:
    """What it wrote, once it has ended; one that takes nearly all memory is ended."""
    most = int(MEMORY_SHARE * psutil.virtual_memory().total)
    while True:
        try:
            return child.communicate(timeout=GLANCE)
        except subprocess.TimeoutExpired:
            if memory_of(child.pid, with_children=True) > most:
                child.kill()
        except KeyboardInterrupt:  # of a terminal, which has told the child too
            continue
