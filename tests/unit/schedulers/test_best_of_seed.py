"""Hill climbing from every seed at once."""

from __future__ import annotations

from dataclasses import replace

import torch

from jostle.randomness import randomness
from jostle.schedulers.best_of_seed import PATIENCE, BestOfSeed
from making import batch_of, lesson, seeds_of

SEEDS = seeds_of(torch.zeros(4, 1))


def planted() -> BestOfSeed:
    scheduler = BestOfSeed()
    scheduler.learn(lesson(SEEDS.as_candidates(), torch.zeros(4, 1)))
    return scheduler


def kept(scheduler: BestOfSeed, *rows: tuple[int, float]) -> None:
    """A step kept a descendant of each of these seeds, with such a gain."""
    roots, gains = torch.tensor([root for root, _ in rows]), torch.tensor([[gain] for _, gain in rows])
    mutants = replace(batch_of(torch.zeros(len(rows), 1)), seeds=SEEDS, roots=roots)
    scheduler.learn(lesson(mutants, gains))


def shares(scheduler: BestOfSeed, entries: int) -> list[float]:
    """How often each entry is planned."""
    ids = scheduler.plan(entries, 10_000, randomness(0, 1))
    return (torch.bincount(ids, minlength=entries) / len(ids)).tolist()


def test_of_each_seed_the_newest_entry_is_mutated_and_no_other() -> None:
    scheduler = planted()
    kept(scheduler, (2, 1.0), (2, 0.5), (0, 0.1))
    assert {entry for entry, share in enumerate(shares(scheduler, 7)) if share} == {1, 3, 5, 6}


def test_whoever_gained_most_comes_first_and_nobody_stands_still() -> None:
    scheduler = planted()
    kept(scheduler, (1, 1.0), (3, 2.0))
    found = shares(scheduler, 6)
    assert found[5] > 1.5 * found[4] > 0 and min(found[0], found[2]) > 0.05


def test_a_seed_that_gains_no_more_falls_back() -> None:
    scheduler = planted()
    kept(scheduler, (1, 2.0), (3, 1.0))
    scheduler.plan(6, 20 * PATIENCE, randomness(0, 1))
    kept(scheduler, (3, 0.1))
    found = shares(scheduler, 7)
    assert found[6] > 1.5 * found[4]
