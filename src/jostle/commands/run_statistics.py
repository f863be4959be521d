"""Figures of repeated runs: their spread, and whether two groups of runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median
from typing import Any

SIGNIFICANT = 0.05
MOST_ORDERS = 13_000  # ways to deal values to two groups that are gone through one by one: 8 runs against 8


@dataclass(frozen=True)
class Spread:
    """The middle of several values, and their ends."""

    median: float
    smallest: float
    largest: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(median(values), min(values), max(values))


@dataclass(frozen=True)
class RankTest:
    """Mann-Whitney's test of two groups of values, two-sided, with Vargha and Delaney's effect size."""

    p: float
    a12: float  # probability that a run of the first group has more than one of the second; 0.5: no difference
    enough: bool  # runs are so many that p could be below 0.05 at all

    @property
    def verdict(self) -> str:
        if not self.enough:
            return "too few runs to tell"
        if self.p >= SIGNIFICANT:
            return "no difference shown"
        return "more" if self.a12 > 1 / 2 else "less"


def ranked(ours: Sequence[float], theirs: Sequence[float]) -> RankTest:
    """Whether our values tend to be larger or smaller than theirs: exact for few runs, also where values tie."""
    from scipy.stats import mannwhitneyu

    orders = comb(len(ours) + len(theirs), len(ours))
    if len({*ours, *theirs}) == 1:
        return RankTest(1.0, 1 / 2, enough=2 / orders < SIGNIFICANT)
    tested = mannwhitneyu(ours, theirs, alternative="two-sided", method=_method(ours, theirs, orders))
    a12 = float(tested.statistic) / (len(ours) * len(theirs))
    return RankTest(float(tested.pvalue), a12, enough=2 / orders < SIGNIFICANT)


def _method(ours: Sequence[float], theirs: Sequence[float], orders: int) -> Any:
    from scipy.stats import PermutationMethod

    if orders > MOST_ORDERS:
        return "asymptotic"
    if len({*ours, *theirs}) == len(ours) + len(theirs):
        return "exact"
    alone = min(len(ours), len(theirs)) == 1  # which scipy does not permute
    return "asymptotic" if alone else PermutationMethod(n_resamples=MOST_ORDERS)
