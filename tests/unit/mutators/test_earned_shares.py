"""How effort is shared among several ways to mutate."""

from __future__ import annotations

import pytest

from jostle.mutators.earned_shares import EXPLORED, EarnedShares


def test_shares_are_whole_and_go_to_what_pays() -> None:
    earned = EarnedShares({"one": 1.0, "other": 1.0, "third": 1.0})
    for _ in range(50):
        earned.credit(["other", "other"], [])
    shares = earned.shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["other"] > 0.8 and shares["one"] == shares["third"] >= EXPLORED / 3


def test_what_others_did_earns_nothing() -> None:
    earned = EarnedShares({"one": 1.0, "other": 1.0})
    earned.credit(["stranger"] * 5, ["stranger"])
    assert earned.shares() == {"one": 0.5, "other": 0.5}


def test_steps_without_any_reward_never_end_the_sharing() -> None:
    earned = EarnedShares({"one": 1.0, "other": 1.0})
    for _ in range(20_000):  # 0.9 to this power is 0 as a float
        earned.credit([], [])
    assert earned.shares() == pytest.approx({"one": 0.5, "other": 0.5})
    earned.credit(["one"], [])
    assert earned.shares()["one"] > 0.85
