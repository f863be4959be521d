"""Whether two groups of runs differ."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from jostle.commands.run_statistics import Spread, ranked


def counted_a12(ours: list[float], theirs: list[float]) -> float:
    """Vargha and Delaney's definition, pair by pair."""
    return sum((one > other) + (one == other) / 2 for one in ours for other in theirs) / (len(ours) * len(theirs))


def counted_p(ours: list[float], theirs: list[float]) -> float:
    """The share of all ways to deal the values that are at least as far from even as this one."""
    values, places = [*ours, *theirs], range(len(ours) + len(theirs))
    deals = [
        counted_a12([values[i] for i in some], [values[i] for i in places if i not in some])
        for some in combinations(places, len(ours))
    ]
    far = abs(counted_a12(ours, theirs) - 0.5)
    return float(np.mean([abs(deal - 0.5) >= far - 1e-9 for deal in deals]))


@pytest.mark.parametrize("top", [3, 1000])  # with many ties, and hardly any
def test_p_and_effect_size_are_those_of_counting(top: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        ours, theirs = ([float(one) for one in rng.integers(0, top, 4)] for _ in range(2))
        test = ranked(ours, theirs)
        assert test.a12 == pytest.approx(counted_a12(ours, theirs))
        assert test.p == pytest.approx(counted_p(ours, theirs))


@pytest.mark.parametrize(
    ("ours", "theirs", "enough"), [(1, 1, False), (3, 3, False), (3, 4, False), (4, 4, True), (3, 5, True)]
)
def test_runs_are_enough_where_p_can_be_below_five_per_cent(ours: int, theirs: int, enough: bool) -> None:
    test = ranked([float(n) for n in range(ours)], [float(100 + n) for n in range(theirs)])
    assert test.enough is enough is (test.p < 0.05)
    assert test.verdict == ("less" if enough else "too few runs to tell")


def test_many_runs_are_tested_too() -> None:
    test = ranked([float(n) for n in range(40)], [float(n + 30) for n in range(40)])
    assert test.p < 0.001 and test.verdict == "less"


@pytest.mark.parametrize(("ours", "theirs"), [([1.0], [1.0]), ([1.0], [1.0, 2.0]), ([2.0] * 4, [2.0] * 4)])
def test_values_that_tie_are_tested_however_few(ours: list[float], theirs: list[float]) -> None:
    test = ranked(ours, theirs)
    assert 0.05 < test.p <= 1 and test.a12 == pytest.approx(counted_a12(ours, theirs))


def test_a_spread_is_middle_and_ends() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)
