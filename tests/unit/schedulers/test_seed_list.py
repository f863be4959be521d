"""DLFuzz's seed list: each entry once, and what is worth it joins the list."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.errors import UsageError
from jostle.randomness import randomness
from jostle.schedulers.seed_list import SeedList
from making import batch_of, lesson, seeds_of

NEAR, FAR = 0.01, 0.5  # relative distances, around the usual limit of 0.02


def planted(scheduler: SeedList, seeds: int, gain: float = 1.0) -> SeedList:
    """The list after so many seeds, each of which gained so much."""
    kept = seeds_of(torch.ones(seeds, 4)).as_candidates()
    scheduler.learn(lesson(kept, torch.full((seeds, 1), gain)))
    return scheduler


def learn(scheduler: SeedList, *mutants: tuple[float, float], parent: int = 0) -> None:
    """A step that kept mutants of one parent, so far from their roots, that gained so much."""
    distances, gains = (torch.tensor(column) for column in zip(*mutants, strict=True))
    references = torch.ones(len(mutants), 4)
    made = batch_of(references * (1 + distances[:, None]), references=references)
    scheduler.learn(lesson(replace(made, parents=torch.full((len(mutants),), parent)), gains[:, None]))


def plan(scheduler: SeedList, children: int) -> list[int]:
    ids: list[int] = scheduler.plan(10**6, children, randomness(0, 1)).tolist()
    return ids


def plans(scheduler: SeedList, children: int) -> list[list[int]]:
    """All plans until there is nothing left."""
    made = []
    while ids := plan(scheduler, children):
        made.append(ids)
        assert len(made) < 1000
    return made


def entries_of(scheduler: SeedList) -> list[int]:
    """The list itself, as one round goes through it."""
    return sorted({entry for ids in plans(scheduler, 300) for entry in ids})


def listed(*mutants: tuple[float, float], mutated: int = 0) -> list[int]:
    """Which mutants join ten seeds that gained ten, if half of that is desired, once so many entries were mutated."""
    scheduler = planted(SeedList(1, 0.02, 0.5, rounds=1), 10)
    if mutated:
        plan(scheduler, mutated)
    learn(scheduler, *mutants)
    return [entry - 10 for entry in entries_of(scheduler) if entry >= 10]


def test_each_entry_has_its_turn_once_in_order_so_many_times_in_a_row() -> None:
    scheduler = planted(SeedList(iterations=3, rounds=1), 5)
    assert plans(scheduler, 6) == [[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3], [4, 4, 4]]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(entries=st.integers(1, 20), iterations=st.integers(1, 4), children=st.integers(1, 12))
def test_in_one_round_every_entry_has_its_turn_and_only_the_last_of_a_step_is_cut_short(
    entries: int, iterations: int, children: int
) -> None:
    scheduler = planted(SeedList(iterations, rounds=1), entries)
    turns = []
    for ids in plans(scheduler, children):
        assert len(ids) <= children
        counted = Counter(ids)
        assert list(counted.elements()) == ids  # in a row
        assert all(count == iterations for entry, count in counted.items() if entry != ids[-1])
        assert counted[ids[-1]] == iterations or len(ids) == children
        turns += list(counted)
    assert turns == list(range(entries))


def test_what_is_near_its_root_and_gains_enough_joins_and_nothing_else() -> None:
    assert listed((NEAR, 6.0), (NEAR, 4.0), (FAR, 6.0), (FAR, 4.0), (NEAR, 5.5)) == [0, 4]


def test_a_gain_that_is_just_enough_or_a_distance_that_is_just_the_limit_is_not() -> None:
    assert listed((NEAR, 5.0), (0.0201, 9.0), (0.0199, 5.1)) == [2]


@pytest.mark.parametrize(("mutated", "enough"), [(0, 5.0), (1, 2.5), (4, 1.0), (9, 0.5)])
def test_the_gain_that_is_desired_decays_with_the_entries_mutated(mutated: int, enough: float) -> None:
    assert listed((NEAR, enough * 0.99), (NEAR, enough * 1.01), mutated=mutated) == [1]


def test_the_gain_that_is_desired_grows_with_all_that_was_gained() -> None:
    scheduler = planted(SeedList(1, desired=0.5, rounds=1), 10, 1.0)
    learn(scheduler, (FAR, 90.0))  # does not join, and counts
    learn(scheduler, (NEAR, 6.0), (NEAR, 51.0))
    assert entries_of(scheduler) == [*range(10), 12]


def test_seeds_join_whatever_they_gain() -> None:
    scheduler = planted(SeedList(1, limit=0.0, rounds=1), 4, gain=0.0)
    learn(scheduler, (0.0, 100.0))  # with a limit of zero, only seeds
    assert entries_of(scheduler) == [0, 1, 2, 3]


def test_an_endless_gain_does_not_keep_all_others_out() -> None:
    scheduler = planted(SeedList(1, desired=0.1, rounds=1), 2, gain=float("inf"))
    learn(scheduler, (NEAR, 1.0))
    assert entries_of(scheduler) == [0, 1, 2]


def test_several_criteria_gain_together() -> None:
    scheduler = planted(SeedList(1, desired=0.5, rounds=1), 10)
    references = torch.ones(2, 4)
    kept = replace(batch_of(references * (1 + NEAR), references=references), parents=torch.zeros(2).long())
    scheduler.learn(lesson(kept, torch.tensor([[3.0, 3.0], [3.0, 0.0]])))
    assert entries_of(scheduler) == [*range(10), 10]


def test_what_joins_while_a_round_lasts_has_its_turn_in_it() -> None:
    scheduler = planted(SeedList(1, rounds=1), 3)
    assert plan(scheduler, 2) == [0, 1]
    learn(scheduler, (FAR, 9.0), (NEAR, 9.0))
    assert plans(scheduler, 2) == [[2, 4]]


def test_when_the_rounds_are_over_nothing_is_planned() -> None:
    scheduler = planted(SeedList(1, rounds=3), 4)
    made = plans(scheduler, 4)
    assert made == [[0, 1, 2, 3]] * 3
    assert plan(scheduler, 4) == [] == plan(scheduler, 4)


def test_without_a_number_of_rounds_there_is_always_another() -> None:
    scheduler = planted(SeedList(1), 4)
    assert all(plan(scheduler, 4) == [0, 1, 2, 3] for _ in range(50))


def test_in_later_rounds_few_entries_fill_a_batch_together() -> None:
    scheduler = planted(SeedList(iterations=2), 3)
    assert plan(scheduler, 10) == [0, 0, 1, 1, 2, 2]
    assert plan(scheduler, 10) == [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]
    assert len(plan(scheduler, 100)) == 100


@pytest.mark.parametrize("desired", [-0.1, 1.0, 2.0])
def test_a_share_that_is_none_is_refused(desired: float) -> None:
    with pytest.raises(UsageError, match=f"--desired {desired}: give the share of all coverage"):
        SeedList(desired=desired)
    with pytest.raises(UsageError, match="--desired nan: give a number"):
        SeedList(desired=float("nan"))


@pytest.mark.parametrize(("depth", "joining"), [(None, [2, 3, 4]), (3, [2, 3, 4]), (2, [2, 3]), (1, [2])])
def test_what_lies_too_many_generations_below_its_seed_does_not_join(depth: int | None, joining: list[int]) -> None:
    scheduler = planted(SeedList(1, desired=0.0, rounds=1, depth=depth), 2)
    for parent in (1, 2, 3):  # a child, its child, and that one's
        learn(scheduler, (NEAR, 9.0), parent=parent)
    assert entries_of(scheduler) == [0, 1, *joining]


@pytest.mark.parametrize(("depth", "joining"), [(None, [2, 3, 4]), (2, [2, 3]), (1, [2])])
def test_an_entry_may_be_kept_together_with_its_parent(depth: int | None, joining: list[int]) -> None:
    """As in a round of one of several workers, which an earlier run did."""
    scheduler = planted(SeedList(1, desired=0.0, rounds=1, depth=depth), 2)
    references = torch.ones(3, 4)
    made = batch_of(references * (1 + NEAR), references=references)
    scheduler.learn(lesson(replace(made, parents=torch.tensor([1, 2, 3])), torch.ones(3, 1)))
    assert [entry for entry in entries_of(scheduler) if entry >= 2] == joining
