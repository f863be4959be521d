"""One run: what is missing is measured, told of as it is done, and kept."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence

from jostle.errors import UsageError
from paper.provenance import origin_here
from paper.results import Results
from paper.table import Cell, Data, Table
from paper.workers import Job, Measured, measured


def measure_missing(
    tables: Sequence[Table], cells: Mapping[str, Sequence[Cell]], results: Results, data: Data, processes: int
) -> int:
    """Measures the cells of these tables that are not kept yet, and returns how many failed."""
    able = {table.name: [cell for cell in cells[table.name] if not cell.missing] for table in tables}
    _tell_missing([cell for table in tables for cell in cells[table.name]], any(able.values()))
    kept = {table.name: results.kept(table, able[table.name]) for table in tables}
    jobs = _each_once(
        Job(table, cell)
        for table in tables
        for cell in sorted(able[table.name], key=lambda cell: -cell.cost)  # the long ones first, so that none is last
        if cell.name not in kept[table.name]
    )
    progress = Progress(jobs, sum(map(len, kept.values())), processes)
    origin, failed = origin_here(), 0
    for done in measured(jobs, data, processes):
        if done is None:
            progress.waits()
        elif done.result is None:
            failed += 1
            progress.failed(done, results.keep_trace(done.job.table, done.job.cell, done.trace))
        else:
            results.keep(done.job.table, done.job.cell, done.result, done.seconds, origin)
            progress.done(done)
    progress.ends(failed)
    return failed


def _each_once(jobs: Iterable[Job]) -> list[Job]:
    """The same, but for cells that an earlier table shares."""
    first: dict[tuple[str, str], Job] = {}
    for job in jobs:
        first.setdefault((job.cell.shared or job.table.name, job.cell.name), job)
    return list(first.values())


def _tell_missing(cells: Sequence[Cell], some_can_be_measured: bool) -> None:
    """Says what cannot be measured here; refuses the run if nothing can."""
    lacking = sorted({cell.missing for cell in cells if cell.missing})
    if lacking and not some_can_be_measured:
        raise UsageError("; ".join(lacking))
    for line in lacking:
        print(f"not run: {line}")


class Progress:
    """How far the run has come: a line for each cell, and on a terminal one more that counts the time down."""

    def __init__(self, jobs: Sequence[Job], kept: int, processes: int):
        self._count, self._processes = len(jobs), processes
        self._left = {str(job): job.cell.cost for job in jobs}
        self._spent = self._expected = 0.0  # seconds that done cells took, and should have taken
        self._since, self._terminal = time.perf_counter(), sys.stdout.isatty()
        print(f"{len(jobs)} cells to measure, {kept} kept from before; about {_minutes(self._time_left())}", flush=True)

    def waits(self) -> None:
        if self._terminal:
            self._write(f"{self._so_far()}, {_minutes(time.perf_counter() - self._since)} so far", "")

    def done(self, done: Measured) -> None:
        self._counted(done)
        self._write(f"{self._so_far()}: {done.job} took {done.seconds:.1f} s")

    def failed(self, done: Measured, trace: str) -> None:
        self._counted(done)
        where = f" (see {trace})" if trace else ""
        self._write(f"{self._so_far()}: {done.job} FAILED: {done.failure}{where}")

    def ends(self, failed: int) -> None:
        took = _minutes(time.perf_counter() - self._since)
        cells = self._count - len(self._left)
        self._write(f"{cells - failed} cells measured in {took}" + (f", {failed} FAILED" if failed else ""))

    def _counted(self, done: Measured) -> None:
        self._expected += self._left.pop(str(done.job))
        self._spent += done.seconds

    def _so_far(self) -> str:
        done = self._count - len(self._left)
        rate = 60 * done / max(time.perf_counter() - self._since, 1e-9)
        return f"[{done}/{self._count}] {rate:.1f} cells a minute, {_minutes(self._time_left())} left"

    def _time_left(self) -> float:
        """What is left at the pace so far, in which expectations count as ten seconds' experience."""
        pace = (self._spent + 10) / (self._expected + 10)
        longest = max(self._left.values(), default=0)
        return pace * max(sum(self._left.values()) / self._processes, longest)

    def _write(self, line: str, end: str = "\n") -> None:
        print(f"\r\033[K{line}" if self._terminal else line, end=end, flush=True)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.0f} s"
