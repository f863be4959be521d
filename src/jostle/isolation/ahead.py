"""Workers that are started before anybody asks for them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jostle.isolation.orphans import new_folder
from jostle.isolation.process import Limits, Worker, module_program

MODEL_WORKER = "jostle.session.worker_program"  # the module that a worker of models runs
ANSWERS = "answer.bin"  # the arrays of a worker's last answer, in its folder
UNUSED = Limits(0.0, 0)  # of a worker that is asked nothing yet


@dataclass(frozen=True)
class Ahead:
    """A worker that nobody has asked anything yet."""

    module: str
    folder: Path
    worker: Worker


_waiting: list[Ahead] = []  # of this process, which commands and clients have nothing else in common


@contextmanager
def started_ahead(module: str) -> Iterator[None]:
    """A worker that runs the module is there for the first client that wants one; if none does, it is ended."""
    folder = new_folder()
    ahead = Ahead(module, folder, Worker(module_program(module), [str(folder / ANSWERS)], UNUSED))
    _waiting.append(ahead)
    try:
        yield
    finally:
        if ahead in _waiting:
            _waiting.remove(ahead)
            ahead.worker.kill()
            shutil.rmtree(folder, ignore_errors=True)


def taken(module: str, limits: Limits) -> Ahead | None:
    """A worker that runs the module and was started ahead, if there is one; it is the taker's from now on."""
    found = next((ahead for ahead in _waiting if ahead.module == module), None)
    if found is not None:
        _waiting.remove(found)
        found.worker.limits = limits
    return found
