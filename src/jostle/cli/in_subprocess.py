"""Commands that load a model from a file do so in a process of their own, which it may take with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from typing import IO, Any, ParamSpec

from jostle.errors import ModelRefused
from jostle.isolation.lifeline import WHOLE, command
from jostle.isolation.orphans import TAG, clean_up, new_name
from jostle.isolation.process import memory_of, most_memory, signal_name
from jostle.isolation.spawned import end_group

GLANCE = 0.1  # seconds
Parameters = ParamSpec("Parameters")
# The command's arguments -> the models it loads
Specs = Callable[..., Iterable[str]]


def in_subprocess_if_from_file(specs: Specs) -> Callable[[Callable[Parameters, Any]], Callable[Parameters, Any]]:
    """A command that runs again in a process of its own if one of its models comes from a file."""

    def decorate(command: Callable[Parameters, Any]) -> Callable[Parameters, Any]:
        @wraps(command)
        def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
            if is_subprocess() or not _any_from_file(specs(**kwargs)):
                return command(*args, **kwargs)
            return command_in_subprocess()

        return run

    return decorate


def _any_from_file(specs: Iterable[str]) -> bool:
    from jostle.subjects.registry import is_file  # here, because it needs torch

    return any(map(is_file, specs))


def is_subprocess() -> bool:
    """Whether this process was started to run a model, and may die of it."""
    return TAG in os.environ


def command_in_subprocess() -> int:
    """This very command in another process; off a terminal its output is passed on when it ends."""
    clean_up()
    tag = new_name()
    call = [*command(sys.executable, WHOLE, "jostle.cli.main"), *sys.argv[1:]]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        terminal = sys.stderr.isatty()
        child = subprocess.Popen(
            call,
            stdout=None if terminal else out,
            stderr=None if terminal else err,
            env={**os.environ, TAG: tag},
            start_new_session=True,
        )
        try:
            _wait(child)
        finally:
            end_group(child, tag)
        _pass_on(out, sys.stdout)
        if child.returncode < 0:
            name = signal_name(-child.returncode)
            raise ModelRefused(f"the model ended the process that ran it ({name}): check where the file comes from")
        _pass_on(err, sys.stderr)
    return child.returncode


def _wait(child: subprocess.Popen[bytes]) -> None:
    """Until it ends; one that takes nearly all memory is ended, and a first interrupt is the child's to answer."""
    most = most_memory()
    interrupted = False
    while True:
        try:
            with suppress(subprocess.TimeoutExpired):
                child.wait(GLANCE)
                return
            if memory_of(child.pid, with_children=True) > most:
                raise ModelRefused(f"the model took more than {most / 1e9:.0f} GB of memory: give a smaller --batch")
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            child.send_signal(signal.SIGINT)


def _pass_on(file: IO[bytes], to: IO[str]) -> None:
    file.seek(0)
    for line in file:
        to.write(line.decode(errors="replace"))
