"""How many threads a campaign's models run on: so many as the user or an earlier run says, or so many as pay."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from jostle.errors import ResumeRefused
from jostle.interfaces import Target
from jostle.isolation.client import WorkerClient
from jostle.options.resources import MOST_THREADS, BatchOptions, ThreadOptions
from jostle.options.schema import Given
from jostle.records import Candidates, Seeds, all_rows
from jostle.storage.campaign_record import read_campaign
from jostle.subjects.instrument import Instrumented

CLEARLY = 1.2  # times as fast: what else a step does runs on one thread anyhow, and other work comes and goes
MAJORITY = 3  # rounds of five, so that one that was disturbed does not decide
LONGEST = 0.5  # seconds that the rows of a measured batch take at most, one by one


@contextmanager
def on_threads(given: Given) -> Iterator[None]:
    """While this lasts, torch has the threads that options name, if they do; then it has those of before again."""
    before, named = torch.get_num_threads(), given.of(ThreadOptions).number
    if named is not None:
        torch.set_num_threads(named)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_before(folder: Path) -> int | None:
    """On how many threads the campaign in this folder ran, None where that is unknown."""
    try:
        number = read_campaign(folder).changeable.get("threads")
    except (OSError, ValueError, ResumeRefused):  # which is told when the folder is opened
        return None
    return number if type(number) is int and 1 <= number <= MOST_THREADS else None


def settle_threads(given: Given, model: Instrumented, service: WorkerClient | None, seeds: Seeds) -> int:
    """On how many threads models that were just opened run from now on, here and in their own process."""
    named = given.of(ThreadOptions).number
    most = torch.get_num_threads()
    if named is not None or most == 1 or not model.threads_vary:
        return most

    def change(threads: int) -> None:
        torch.set_num_threads(threads)
        if service is not None:
            service.ask("threads", {}, threads=threads)

    batch = _measurable(model.target, seeds, given.of(BatchOptions).rows)
    chosen = (
        1 if batch is None else chosen_threads(lambda threads: _seconds(model.target, batch, threads, change), most)
    )
    torch.set_num_threads(chosen)
    if service is not None:
        service.open("threads", {}, threads=chosen)  # of workers too that take the place of this one
    return chosen


def chosen_threads(seconds: Callable[[int], float], most: int) -> int:
    """One thread, or the most there are where a batch takes clearly less time on them in the majority of rounds."""
    faster = slower = 0
    while max(faster, slower) < MAJORITY:
        if seconds(1) >= CLEARLY * seconds(most):
            faster += 1
        else:
            slower += 1
    return most if faster > slower else 1


def _seconds(target: Target, batch: Candidates, threads: int, change: Callable[[int], None]) -> float:
    change(threads)
    started = time.perf_counter()
    target.run(batch)
    return time.perf_counter() - started


def _measurable(target: Target, seeds: Seeds, rows: int) -> Candidates | None:
    """Seeds as a batch of so many rows, or of fewer of a slow model; None where the model fails on them."""
    candidates = seeds.as_candidates()
    single = candidates.select(all_rows(1))
    target.run(single)  # the first run takes longer than others
    started = time.perf_counter()
    target.run(single)
    taken = time.perf_counter() - started
    few = max(1, min(rows, int(LONGEST / max(taken, 1e-9))))
    batch = candidates.select(all_rows(few) % len(seeds))
    return batch if target.run(batch).ran.all() else None
