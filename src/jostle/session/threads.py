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
ROUNDS = 5  # always all of them: a model with a state is left in the same one
MAJORITY = 3  # of them, so that one that was disturbed does not decide
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
    number, most = given.of(ThreadOptions).number, torch.get_num_threads()
    if number is None:
        number = _measured(model.target, service, seeds, given.of(BatchOptions).rows) if model.threads_vary else most
    torch.set_num_threads(number)  # again, because opening a model may have changed it
    if service is not None:
        service.open("threads", {}, threads=number)  # of workers too that take the place of this one
    return number


def _measured(target: Target, service: WorkerClient | None, seeds: Seeds, rows: int) -> int:
    """One thread, or all that torch has, by timing batches of so many rows on both."""
    most = torch.get_num_threads()
    if most == 1:
        return 1

    def change(threads: int) -> None:
        torch.set_num_threads(threads)
        if service is not None:
            service.ask("threads", {}, threads=threads)

    with torch.random.fork_rng(devices=[]):  # what a model draws in a campaign does not depend on measuring
        change(1)
        batch = _measurable(target, seeds, rows)
        return 1 if batch is None else chosen_threads(lambda number: _seconds(target, batch, number, change), most)


def chosen_threads(seconds: Callable[[int], float], most: int) -> int:
    """One thread, or the most there are where a batch takes clearly less time on them in the majority of rounds."""
    faster = sum(seconds(1) >= CLEARLY * seconds(most) for _ in range(ROUNDS))
    return most if faster >= MAJORITY else 1


def _seconds(target: Target, batch: Candidates, threads: int, change: Callable[[int], None]) -> float:
    change(threads)
    started = time.perf_counter()
    target.run(batch)
    return time.perf_counter() - started


def _measurable(target: Target, seeds: Seeds, rows: int) -> Candidates | None:
    """Seeds as a batch of so many rows, or of fewer of a slow model; None where the model fails on them."""
    candidates = seeds.as_candidates()
    single = candidates.select(all_rows(1))
    if not target.run(single).ran.all():  # the first run takes longer than others
        return None
    started = time.perf_counter()
    target.run(single)
    taken = time.perf_counter() - started
    few = max(1, min(rows, int(LONGEST / max(taken, 1e-9))))
    batch = candidates.select(all_rows(few) % len(seeds))
    return batch if target.run(batch).ran.all() else None
