"""Where workers come from, ahead of being needed: everything they import is imported before anybody asks for one."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jostle.isolation.forked import SUPPORTED, Template
from jostle.isolation.lifeline import WHOLE, command
from jostle.isolation.orphans import new_folder
from jostle.isolation.process import Limits, Worker
from jostle.isolation.spawned import spawning

MODEL_WORKER = "jostle.session.worker_program"  # the module that a worker of models runs
UNUSED = Limits(0.0, 0)  # of a worker that is asked nothing yet


@dataclass(frozen=True)
class NewWorker:
    """A worker that nobody has asked anything yet."""

    worker: Worker
    answers: int  # the descriptor of a file for the arrays of its answers
    folder: Path  # of its own


class WorkerSource:
    """Workers that run one module: forked from a template, or spawned, the first of them ahead."""

    def __init__(self, module: str):
        self._module, self.users = module, 0
        self._learnt: list[str] = []
        self._template = Template(module) if SUPPORTED else None
        self._first = None if SUPPORTED else self._started(UNUSED)

    def new(self, limits: Limits) -> NewWorker:
        first, self._first = self._first, None
        if first is None:
            return self._started(limits)
        first.worker.limits = limits
        return first

    def learn(self, modules: Sequence[str]) -> None:
        """Has modules imported that every worker will need, if that can be done once for all of them."""
        self._learnt = list(modules)
        if self._template is not None:
            self._template.learn(self._learnt)

    def close(self) -> None:
        if self._first is not None:
            self._first.worker.kill()
            os.close(self._first.answers)
            shutil.rmtree(self._first.folder, ignore_errors=True)
        if self._template is not None:
            self._template.close()

    def _started(self, limits: Limits) -> NewWorker:
        folder, answers = new_folder(), anonymous_file()
        program = command(sys.executable, WHOLE, self._module)
        if self._template is not None and self._template.gone:
            self._template = Template(self._module)
            self._template.learn(self._learnt)
        start = spawning(program, [str(folder)]) if self._template is None else self._template.starting([str(folder)])
        return NewWorker(Worker(start, limits, [answers]), answers, folder)


def anonymous_file() -> int:
    """The descriptor of a file without a name, which nobody can remove: in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("jostle")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


_sources: dict[tuple[int, str], WorkerSource] = {}  # of this process, which commands and clients have in common


@contextmanager
def started_ahead(module: str) -> Iterator[None]:
    """What workers of the module import is being imported, for the first client that wants one."""
    source = acquired(module)
    try:
        yield
    finally:
        released(source)


def acquired(module: str) -> WorkerSource:
    """Where workers of the module come from; the same for all that use it at a time."""
    key = (os.getpid(), module)
    if key not in _sources:
        _sources[key] = WorkerSource(module)
    _sources[key].users += 1
    return _sources[key]


def released(source: WorkerSource) -> None:
    """Closes it after its last user."""
    source.users -= 1
    if not source.users:
        for key in [key for key, one in _sources.items() if one is source]:
            del _sources[key]
        source.close()
