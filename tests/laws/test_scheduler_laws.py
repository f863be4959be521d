"""Whom do we mutate, how often? What holds of every Scheduler."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.interfaces import Scheduler
from jostle.randomness import randomness
from jostle.schedulers.recent import NewestFew, SmoothRecency
from jostle.schedulers.uniform import Uniform

SCHEDULERS: dict[str, Callable[[], Scheduler]] = {
    "uniform": Uniform,
    "recent": NewestFew,
    "recent, newest 1": lambda: NewestFew(1),
    "recent, newest 1000": lambda: NewestFew(1000),
    "smooth 0": lambda: SmoothRecency(0),
    "smooth 0.5": SmoothRecency,
    "smooth 0.999": lambda: SmoothRecency(0.999),
}
every_scheduler = pytest.mark.parametrize("name", SCHEDULERS)
entries_of_a_corpus = st.one_of(st.integers(1, 8), st.integers(1, 10**7))


@every_scheduler
@settings(deadline=None, derandomize=True)
@given(entries=entries_of_a_corpus, children=st.integers(1, 300), seed=st.integers(0, 1000))
def test_a_plan_names_as_many_entries_as_children_and_all_exist(
    name: str, entries: int, children: int, seed: int
) -> None:
    ids = SCHEDULERS[name]().plan(entries, children, randomness(seed, 1))
    assert (ids.shape, ids.dtype) == ((children,), torch.int64)
    assert 0 <= int(ids.min()) <= int(ids.max()) < entries


@every_scheduler
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
    SCHEDULERS[name]().plan(100, 64, randomness(0, 0))
    assert torch.equal(torch.get_rng_state(), before)


@every_scheduler
def test_every_entry_of_a_small_corpus_is_planned_sooner_or_later(name: str) -> None:
    ids = SCHEDULERS[name]().plan(4, 200_000, randomness(0, 0))
    assert set(ids.tolist()) == {0, 1, 2, 3}
