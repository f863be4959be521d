"""Executions that workers are granted: together never more than the campaign may have."""

from __future__ import annotations

import random
from typing import Any

import pytest

from jostle.scale.corpus_ids import CorpusIds
from jostle.scale.members import LEASED, AllTries, Grants, Member, Request
from jostle.scale.requests import RoundFigures
from jostle.step_records import Tries

LEAST = 16


class Nobody:
    def call(self, method: str, content: bytes, *shared: Any) -> Any:
        raise AssertionError("nobody is asked")

    def end(self) -> None:
        raise AssertionError("nobody is ended")


def member(number: int = 0, executions: int = 0) -> Member:
    return Member(number, Nobody(), CorpusIds(0), executions)


def test_one_worker_gets_all_at_once() -> None:
    grants, only = Grants(1000), member(executions=10)
    assert grants.lease(only, LEAST, workers=1, seconds=1.0) == 1010
    assert grants.left == 0 and grants.lease(only, LEAST, workers=1, seconds=1.0) == 1010


def test_without_a_limit_nobody_is_bounded() -> None:
    grants, some = Grants(None), member()
    assert grants.lease(some, LEAST, workers=2, seconds=1.0) is None
    grants.give_back(some)
    assert grants.left is None


@pytest.mark.parametrize("seed", range(30))
def test_workers_that_use_die_and_give_back_never_get_more_than_the_budget_together(seed: int) -> None:
    chance = random.Random(seed)
    workers, budget = chance.randrange(2, 6), chance.randrange(1, 5000)
    grants, handed_over = Grants(budget), 0
    crew = [member(number) for number in range(workers)]
    for _ in range(400):
        place = chance.randrange(workers)
        one = crew[place]
        stop_at = grants.lease(one, LEAST, workers, 1.0)
        assert stop_at == one.executions + one.granted and grants.left is not None and grants.left >= 0
        used = chance.randint(0, one.granted - one.ran)
        one.ran, handed_over = one.ran + used, handed_over + used
        assert handed_over + grants.left + sum(some.granted - some.ran for some in crew) == budget
        if chance.random() < 0.1:
            grants.give_back(one)
            crew[place] = member(place, handed_over)
    assert handed_over <= budget


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_that_use_what_they_get_use_the_whole_budget(workers: int) -> None:
    grants, crew = Grants(997), [member(number) for number in range(workers)]
    for turn in range(200):
        one = crew[turn % workers]
        grants.lease(one, LEAST, workers, 1.0)
        one.ran = one.granted
    assert grants.left == 0 and sum(one.ran for one in crew) == 997


def test_what_was_given_back_is_there_for_others() -> None:
    grants, lazy, busy = Grants(100), member(0), member(1)
    grants.lease(lazy, 100, workers=2, seconds=1.0)
    assert grants.lease(busy, 100, workers=2, seconds=1.0) == 0
    lazy.ran = 30
    grants.give_back(lazy)
    assert lazy.granted == lazy.ran == 30 and grants.lease(busy, 100, workers=2, seconds=1.0) == 70


def test_calls_of_a_method_are_counted() -> None:
    one = member()
    one.calls += [Request(method, None, 0.0) for method in ("begin", "round", "round")]
    assert (one.asked("begin"), one.asked("round"), one.asked("receive")) == (1, 2, 0)


def test_a_lease_lasts_for_the_rounds_that_a_worker_is_asked_for() -> None:
    """Also where rounds are long, because there are hundreds of workers."""
    one = member()
    one.ran, one.figures, one.granted = 1000, RoundFigures(elapsed=1.0), 1000
    grants = Grants(10**9)
    assert grants.lease(one, LEAST, workers=512, seconds=16.0) == 1000 + LEASED * 16 * 1000


def test_tries_of_all_workers_are_added_up_and_those_of_the_dead_stay() -> None:
    tries = AllTries()
    tries.tell(0, {"blur": Tries(10, 4, "why")})
    tries.tell(1, {"blur": Tries(5, 5, "why"), "noise": Tries(1, 1, "")})
    tries.tell(0, {"blur": Tries(12, 5, "why")})
    assert tries.total() == {"blur": Tries(17, 10, "why"), "noise": Tries(1, 1, "")}
    tries.end(0)
    tries.tell(0, {"blur": Tries(2, 1, "why")})
    assert tries.total()["blur"] == Tries(19, 11, "why")
