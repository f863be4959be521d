"""Whom do we mutate, how often? What holds of every Scheduler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.interfaces import Learner, Scheduler
from jostle.randomness import randomness
from jostle.schedulers.adaptive import WhereGainsCome
from jostle.schedulers.batch_pool import BatchPool
from jostle.schedulers.best_of_seed import BestOfSeed
from jostle.schedulers.least_fuzzed import LeastFuzzed, Priority
from jostle.schedulers.recent import NewestFew, SmoothRecency, Uniform
from jostle.schedulers.seed_list import SeedList
from jostle.schedulers.with_seeds import WithSeeds
from making import batch_of, lesson, seeds_of

FORGETFUL: dict[str, Callable[[], Scheduler]] = {
    "uniform": Uniform,
    "recent": NewestFew,
    "recent, newest 1": lambda: NewestFew(1),
    "recent, newest 1000": lambda: NewestFew(1000),
    "smooth 0": lambda: SmoothRecency(0),
    "smooth 0.5": SmoothRecency,
    "smooth 0.999": lambda: SmoothRecency(0.999),
}
REMEMBERING: dict[str, Callable[[], Scheduler]] = {
    "pool with seeds": lambda: WithSeeds(BatchPool(1.0)),
    "uniform with seeds": lambda: WithSeeds(Uniform(), 0.9),
    "pool": lambda: BatchPool(1.0),
    "pool, sample 1": lambda: BatchPool(1.0, sample=1),
    "seldom": LeastFuzzed,
    "seldom, steep": lambda: LeastFuzzed(Priority(gamma=1, p_min=0.01)),
    "adaptive": WhereGainsCome,
    "climb": BestOfSeed,
    "climb with seeds": lambda: WithSeeds(BestOfSeed(), 0.5),
    "list": SeedList,
    "list, growing": lambda: SeedList(iterations=1, limit=0.125),
    "list with seeds": lambda: WithSeeds(SeedList(), 0.3),
}
MAY_PLAN_FEWER = ("list", "list, growing", "list with seeds")
DRAWS_NOTHING = ("list",)  # and what is kept below is too far from its root to join it
SCHEDULERS = {**FORGETFUL, **REMEMBERING}
every_scheduler = pytest.mark.parametrize("name", SCHEDULERS)
every_forgetful = pytest.mark.parametrize("name", FORGETFUL)
entries_of_a_corpus = st.one_of(st.integers(1, 8), st.integers(1, 10**7))
kept_by_steps = st.lists(st.sampled_from([0, 0, 1, 2, 17]), max_size=12)


def planned(scheduler: Scheduler, steps: list[int], children: int, seed: int = 0) -> list[Tensor]:
    """What is planned in a campaign of so many seeds whose steps kept so many entries each."""
    plans = []
    entries = 0
    for step, kept in enumerate(steps):
        if step:
            plans.append(scheduler.plan(entries, children, randomness(seed, step)))
        if isinstance(scheduler, Learner):
            rng = randomness(seed, 1000 + step)
            gains = torch.randint(0, 3, (kept, 2), generator=rng).float()
            gains[:, 0] += gains[:, 1] == 0  # what is kept was new to some criterion
            references, changes = torch.rand(2, kept, 4, generator=rng)
            mutants = batch_of(references + changes / 8, references=references)
            mutants = replace(mutants, parents=torch.arange(kept) % max(1, entries))
            scheduler.learn(lesson(mutants if step else seeds_of(references).as_candidates(), gains))
        entries += kept
    plans.append(scheduler.plan(entries, children, randomness(seed, len(steps))))
    return plans


@every_forgetful
@settings(deadline=None, derandomize=True)
@given(entries=entries_of_a_corpus, children=st.integers(1, 300), seed=st.integers(0, 1000))
def test_a_plan_names_as_many_entries_as_children_and_all_exist(
    name: str, entries: int, children: int, seed: int
) -> None:
    ids = SCHEDULERS[name]().plan(entries, children, randomness(seed, 1))
    assert (ids.shape, ids.dtype) == ((children,), torch.int64)
    assert 0 <= int(ids.min()) <= int(ids.max()) < entries


@every_scheduler
@settings(deadline=None, derandomize=True, max_examples=40)
@given(seeds=st.integers(1, 250), steps=kept_by_steps, children=st.integers(1, 300), seed=st.integers(0, 1000))
def test_through_a_campaign_every_plan_names_entries_that_exist(
    name: str, seeds: int, steps: list[int], children: int, seed: int
) -> None:
    kept = [seeds, *steps]
    for step, ids in enumerate(planned(SCHEDULERS[name](), kept, children, seed), start=1):
        assert (ids.ndim, ids.dtype) == (1, torch.int64)
        assert len(ids) == children or (name in MAY_PLAN_FEWER and 0 < len(ids) < children)
        assert 0 <= int(ids.min()) <= int(ids.max()) < sum(kept[:step])


@every_scheduler
def test_planning_and_learning_anew_through_the_same_steps_gives_the_same_plans(name: str) -> None:
    torch.manual_seed(1)
    steps = [150, 3, 0, 40, 1, 0, 7]
    first = planned(SCHEDULERS[name](), steps, 64)
    torch.manual_seed(2)
    assert all(map(torch.equal, planned(SCHEDULERS[name](), steps, 64), first))
    if name not in DRAWS_NOTHING:
        assert not all(map(torch.equal, planned(SCHEDULERS[name](), steps, 64, seed=1), first))


@every_forgetful
def test_the_generator_alone_decides_the_plan(name: str) -> None:
    torch.manual_seed(1)
    first = SCHEDULERS[name]().plan(5000, 64, randomness(3, 4))
    torch.manual_seed(2)
    scheduler = SCHEDULERS[name]()
    assert torch.equal(scheduler.plan(5000, 64, randomness(3, 4)), first)
    assert torch.equal(scheduler.plan(5000, 64, randomness(3, 4)), first)
    if name != "recent, newest 1":
        assert not torch.equal(scheduler.plan(5000, 64, randomness(3, 5)), first)


@every_scheduler
def test_planning_leaves_the_global_random_state_alone(name: str) -> None:
    before = torch.get_rng_state()
    planned(SCHEDULERS[name](), [100, 3], 64)
    assert torch.equal(torch.get_rng_state(), before)


@every_scheduler
def test_every_entry_of_a_small_corpus_is_planned_sooner_or_later(name: str) -> None:
    plans = planned(SCHEDULERS[name](), [4] + [0] * 200, 1000)
    assert set(torch.cat(plans).tolist()) == {0, 1, 2, 3}
