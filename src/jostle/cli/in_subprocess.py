"""Commands that load a model from a file do so in a process of their own, in a sandbox, which it may take with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import IO, Any, ParamSpec

from jostle.cli.terminal import tell
from jostle.errors import ModelRefused, UsageError
from jostle.isolation.lifeline import WHOLE, command
from jostle.isolation.orphans import TAG, clean_up, new_folder, new_name
from jostle.isolation.process import memory_of, most_memory, signal_name
from jostle.isolation.sandbox import check_full, enter
from jostle.isolation.sandbox_blame import blaming_sandbox
from jostle.isolation.spawned import end_group
from jostle.options.schema import Given

SCRATCH = "JOSTLE_SCRATCH"  # in the environment: where a process in a sandbox may write
# Threads of this library begin when it is imported, and Landlock holds for those alone that begin later.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
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


@contextmanager
def in_sandbox(given: Given, named: Iterable[str] = (), writable: Sequence[Path] = ()) -> Iterator[None]:
    """For what opens the models that options name, and these; a process that was started for it gives up its rights.

    It never gets them back; the folders that are writable, it goes on writing to.
    """
    from jostle.options.resources import STRICT, IsolationOptions  # here, because it needs torch
    from jostle.session.folder_trust import NAMING_PYTHON, ships
    from jostle.session.isolate import wants_sandbox

    policy, scratch = given.of(IsolationOptions).sandbox, os.environ.get(SCRATCH)
    if policy == STRICT and scratch is None:
        raise UsageError("--sandbox strict needs a model file: Python that you name runs in this process")
    specs = (*(spec for option in NAMING_PYTHON for spec in given.texts(option)), *named)
    if scratch is None or not wants_sandbox(policy, (spec for spec in specs if not ships(spec))):
        yield
        return
    entered = enter(Path(scratch), [folder for folder in writable if folder.is_dir()])
    if policy == STRICT:
        check_full(entered)
    if entered.missing:
        tell(f"sandbox: {entered}")
    with blaming_sandbox():
        yield


def command_in_subprocess() -> int:
    """This very command in another process; off a terminal its output is passed on when it ends."""
    clean_up()
    scratch = new_folder()
    try:
        return _in_subprocess({SCRATCH: str(scratch), **ONE_THREAD})
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _in_subprocess(environment: Mapping[str, str]) -> int:
    tag = new_name()
    call = [*command(sys.executable, WHOLE, "jostle.cli.main"), *sys.argv[1:]]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        terminal = sys.stderr.isatty()
        child = subprocess.Popen(
            call,
            stdout=None if terminal else out,
            stderr=None if terminal else err,
            env={**os.environ, **environment, TAG: tag},
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
