"""Equation 2, the batch pool with its power schedule, and effort that follows the gains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.interfaces import Learner
from jostle.randomness import randomness
from jostle.records import Candidates
from jostle.schedulers.adaptive import WhereGainsCome
from jostle.schedulers.batch_pool import SEEDS_PER_BATCH, BatchPool
from jostle.schedulers.least_fuzzed import Growing, LeastFuzzed, Priority, drawn
from making import batch_of, lesson


def kept_of(count: int, changed: Tensor | float = 0.0) -> Candidates:
    """As many entries of four values, changed by so much on average from their references."""
    references = torch.zeros(count, 1, 2, 2)
    return batch_of(references + torch.as_tensor(changed).view(-1, 1, 1, 1), references=references)


def gains_of(count: int, *criteria: float) -> Tensor:
    return torch.tensor(criteria).expand(count, -1)


def pool_of(*steps: int, sample: int = 64) -> BatchPool:
    """A pool that learned of steps that kept so many each, the seeds first."""
    pool = BatchPool(1, sample=sample)
    for count in steps:
        pool.learn(lesson(kept_of(count), gains_of(count, 1.0)))
    return pool


@pytest.mark.parametrize(
    ("gamma", "p_min", "expected"),
    [
        (5.0, 0.3, {0: 1.0, 1: 0.8, 2: 0.6, 3: 0.4, 4: 0.3, 5: 0.3, 100: 0.3}),
        (20.0, 0.01, {0: 1.0, 5: 0.75, 19: 0.05, 20: 0.01, 10**6: 0.01}),
        (0.5, 1.0, {0: 1.0, 1: 1.0, 9: 1.0}),
    ],
)
def test_priorities_follow_equation_2(gamma: float, p_min: float, expected: dict[int, float]) -> None:
    fuzzed = np.array(list(expected), dtype=np.float64)
    for times, probability in zip(fuzzed, Priority(gamma, p_min).weights(fuzzed), strict=True):
        by_hand = 1 - times / gamma if times < (1 - p_min) * gamma else p_min
        assert probability == pytest.approx(by_hand) == pytest.approx(expected[int(times)])


@pytest.mark.parametrize(
    ("make", "flag"),
    [
        (lambda: Priority(gamma=0), "--gamma 0"),
        (lambda: Priority(gamma=float("nan")), "--gamma nan"),
        (lambda: Priority(p_min=0), "--p-min 0"),
        (lambda: Priority(p_min=1.1), "--p-min 1.1"),
        (lambda: BatchPool(1, sample=0), "--sample 0"),
    ],
)
def test_bad_numbers_are_refused_by_their_flag(make: Callable[[], object], flag: str) -> None:
    with pytest.raises(UsageError, match=flag):
        make()


def test_positions_are_drawn_by_their_weights(rng: torch.Generator) -> None:
    counts = torch.bincount(drawn(np.array([1.0, 0.0, 2.0, 5.0]), 80_000, rng), minlength=4) / 80_000
    assert counts.tolist() == pytest.approx([1 / 8, 0, 2 / 8, 5 / 8], abs=0.01)


def test_growing_numbers_keep_what_they_hold() -> None:
    numbers = Growing()
    expected: list[float] = []
    for count in (0, 1, 63, 1, 300, 0, 5):
        more = np.arange(count, dtype=np.float64) + len(expected)
        numbers.extend(more)
        expected += more.tolist()
        assert numbers.values().tolist() == expected and len(numbers) == len(expected)
    numbers.values()[3] = -1
    numbers.extend(np.ones(1000))
    assert numbers.values()[3] == -1


def test_entries_fuzzed_seldom_are_planned_until_all_were_fuzzed_alike() -> None:
    scheduler = LeastFuzzed(Priority(gamma=1000, p_min=0.001))
    first = scheduler.plan(2, 1000, randomness(0, 0))
    second = scheduler.plan(4, 1000, randomness(0, 1))
    assert torch.bincount(first, minlength=2).tolist() == pytest.approx([500, 500], abs=80)
    # Weights are then a half for those fuzzed 500 times and 1 for the two that are new.
    assert torch.bincount(second, minlength=4).tolist() == pytest.approx([167, 167, 333, 333], abs=60)


@pytest.mark.parametrize("seeds", [1, 99, 100, 101, 250, 300])
def test_seeds_are_split_into_batches_of_a_hundred(seeds: int) -> None:
    pool = pool_of(seeds)
    seen: set[int] = set()
    for step in range(150):
        batches = {planned // SEEDS_PER_BATCH for planned in pool.plan(seeds, 50, randomness(0, step)).tolist()}
        assert len(batches) == 1
        seen |= batches
    assert seen == set(range((seeds + 99) // 100))


def test_what_a_step_keeps_is_a_batch_and_nothing_kept_is_none() -> None:
    pool = pool_of(150, 7, 0, 1, 230)
    ranges = [range(100), range(100, 150), range(150, 157), range(157, 158), range(158, 388)]
    seen: Counter[int] = Counter()
    for step in range(400):
        ids = set(pool.plan(388, 256, randomness(0, step)).tolist())
        (batch,) = [number for number, batch in enumerate(ranges) if ids <= set(batch)]
        seen[batch] += 1
    assert seen.keys() == set(range(5))


def test_a_batch_fuzzed_seldom_is_likelier() -> None:
    newest = 0
    for step in range(300):
        pool = pool_of(10)
        for past in range(20):
            pool.plan(10, 5, randomness(0, past))
        pool.learn(lesson(kept_of(10), gains_of(10, 1.0)))  # probability 1, against 0.3 of the seeds
        newest += bool((pool.plan(20, 5, randomness(1, step)) >= 10).all())
    assert newest / 300 == pytest.approx(1 / 1.3, abs=0.08)


def test_a_plan_samples_no_more_entries_than_it_is_told() -> None:
    for sample, most in ((1, 1), (3, 3), (64, 40)):
        ids = pool_of(40, sample=sample).plan(40, 2000, randomness(0, 0))
        assert len(ids.unique()) == most


@pytest.mark.parametrize(("low", "span"), [(0.0, 1.0), (0.0, 255.0), (-1.0, 2.0)])
def test_children_are_shared_out_by_mutation_potential(low: float, span: float) -> None:
    # β · span · size − Σ|I − I′₀| leaves these shares of what may change.
    left = torch.tensor([1.0, 0.5, 0.25, 0.0, -3.0])
    references = torch.full((5, 3, 2, 2), low)
    inputs = references + ((1 - left) * 0.2 * span).view(-1, 1, 1, 1)
    pool = BatchPool(span, beta=0.2)
    pool.learn(lesson(batch_of(inputs, references=references), gains_of(5, 1.0)))
    shares = torch.bincount(pool.plan(5, 40_000, randomness(0, 0)), minlength=5) / 40_000
    assert shares.tolist() == pytest.approx([1 / 1.75, 0.5 / 1.75, 0.25 / 1.75, 0, 0], abs=0.01)


def test_a_batch_without_any_potential_is_planned_all_the_same() -> None:
    pool = BatchPool(1)
    pool.learn(lesson(kept_of(4, 0.9), gains_of(4, 1.0)))
    assert set(pool.plan(4, 500, randomness(0, 0)).tolist()) == {0, 1, 2, 3}


def test_schedulers_that_need_to_learn_can() -> None:
    assert isinstance(BatchPool(1), Learner) and isinstance(WhereGainsCome(), Learner)
    assert not isinstance(LeastFuzzed(), Learner)


def adaptive_after(*steps: tuple[float, float]) -> WhereGainsCome:
    """Two seeds new to both criteria, then two entries a step: one new to the first, one to the second."""
    scheduler = WhereGainsCome()
    scheduler.learn(lesson(kept_of(2), gains_of(2, 50.0, 50.0)))
    for first, second in steps:
        scheduler.learn(lesson(kept_of(2), torch.tensor([[first, 0.0], [0.0, second]])))
    return scheduler


def share_of_the_first(scheduler: WhereGainsCome, entries: int) -> float:
    """Of children of mutants, those of entries new to the first criterion, which have even ids."""
    ids = torch.cat([scheduler.plan(entries, 4000, randomness(0, step)) for step in range(3)])
    mutants = ids[ids >= 2]
    return float((mutants % 2 == 0).float().mean())


def test_effort_goes_to_the_criterion_that_still_gains() -> None:
    stalled = adaptive_after(*[(20.0, 0.0)] * 80)
    even = adaptive_after(*[(20.0, 20.0)] * 80)
    ids = torch.cat([stalled.plan(162, 4000, randomness(0, step)) for step in range(3)])
    # What was new to the second criterion is the seeds alone, and it gets little more than half of the exploration.
    assert float((ids < 2).float().mean()) == pytest.approx(0.1, abs=0.06)
    assert share_of_the_first(even, 162) == pytest.approx(0.5, abs=0.03)


def test_growth_is_relative_to_what_a_criterion_ever_gained() -> None:
    fine_and_coarse = WhereGainsCome()
    fine_and_coarse.learn(lesson(kept_of(2), torch.tensor([[50_000.0, 5.0], [50_000.0, 5.0]])))
    for _ in range(60):
        fine_and_coarse.learn(lesson(kept_of(2), torch.tensor([[1000.0, 0.0], [0.0, 0.1]])))
    assert share_of_the_first(fine_and_coarse, 122) == pytest.approx(0.5, abs=0.05)


def test_a_criterion_that_gains_nothing_is_never_forgotten() -> None:
    scheduler = adaptive_after((0.0, 3.0), *[(5.0, 0.0)] * 300)
    ids = scheduler.plan(604, 4000, randomness(0, 0)).tolist()
    assert 3 in ids  # the only mutant that was new to the second criterion


def test_an_entry_new_to_no_criterion_but_planted_as_a_seed_is_planned() -> None:
    scheduler = WhereGainsCome()
    scheduler.learn(lesson(kept_of(3), torch.tensor([[4.0, 4.0], [0.0, 0.0], [0.0, 1.0]])))
    assert set(scheduler.plan(3, 500, randomness(0, 0)).tolist()) == {0, 1, 2}


def test_without_any_gain_yet_all_criteria_share_alike() -> None:
    scheduler = WhereGainsCome()
    scheduler.learn(lesson(kept_of(3), torch.zeros(3, 2)))
    assert set(scheduler.plan(3, 500, randomness(0, 0)).tolist()) == {0, 1, 2}
