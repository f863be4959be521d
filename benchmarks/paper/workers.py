"""Cells measured in processes beside this one, one thread each; one that fails or dies takes no other with it."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from paper.table import Cell, Data, Result, Table

SHOWN = 160  # characters of a failure that stand in its line
Answer = tuple[float, Result | None, str, str]  # seconds, then as in Measured


@dataclass(frozen=True)
class Job:
    """A cell to measure, and the table that it is of."""

    table: Table
    cell: Cell

    def __str__(self) -> str:
        return f"{self.table.name}/{self.cell.name}"


@dataclass(frozen=True)
class Measured:
    """What became of a cell: its result, or why there is none."""

    job: Job
    seconds: float
    result: Result | None
    failure: str = ""  # one line
    trace: str = ""  # the traceback, where there is one


class Worker:
    """A process that measures one cell after another; when it dies, a new one takes its place."""

    def __init__(self, data: Data):
        self._data = data
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would inherit threads of torch in an unknown state
        self.answers, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._data))
        self._process.start()
        theirs.close()
        self.job: Job | None = None

    def give(self, job: Job) -> None:
        self.job = job
        with suppress(OSError):  # it is dead, as its answer will tell
            self.answers.send((job.cell.measure, dict(job.cell.settings)))

    def answer(self) -> Measured:
        """What it says of its cell, waited for."""
        assert self.job is not None
        job = self.job
        try:
            answer: Answer = self.answers.recv()
        except (EOFError, OSError):
            answer = self._died()
        self.job = None
        return Measured(job, *answer)

    def _died(self) -> Answer:
        self._process.join()
        code = self._process.exitcode or 0
        self.answers.close()
        self._start()
        return 0.0, None, f"its process died ({f'signal {-code}' if code < 0 else f'exit code {code}'})", ""

    def stop(self) -> None:
        self.answers.close()
        self._process.terminate()
        self._process.join()


def measured(jobs: Sequence[Job], data: Data, processes: int, tick: float = 1.0) -> Iterator[Measured | None]:
    """Every job as it is done, in whatever order, and None whenever a while passed without one."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes: several threads of each would fight for the cores
    workers = [Worker(data) for _ in range(min(processes, len(jobs)))]
    waiting = list(reversed(jobs))
    try:
        while waiting or any(worker.job for worker in workers):
            for worker in workers:
                if worker.job is None and waiting:
                    worker.give(waiting.pop())
            busy: dict[Any, Worker] = {worker.answers: worker for worker in workers if worker.job}
            ready = wait(list(busy), timeout=tick)
            if not ready:
                yield None
            for answers in ready:
                yield busy[answers].answer()
    finally:
        for worker in workers:
            worker.stop()


def _serve(jobs: Connection, data: Data) -> None:
    """Measures what it is given until nobody is there to give."""
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            measure, settings = jobs.recv()
            jobs.send(_attempted(measure, settings, data))


def _attempted(measure: Any, settings: dict[str, Any], data: Data) -> Answer:
    since = time.perf_counter()
    result, failure, trace = None, "", ""
    try:
        result = json.loads(json.dumps(measure(data, **settings), allow_nan=False))  # else it could not be kept
    except Exception as error:
        failure = " ".join(f"{type(error).__name__}: {error}".split())[:SHOWN]
        trace = traceback.format_exc()
    return time.perf_counter() - since, result, failure, trace
