"""Figures over seeds of randomness, and whether two samples differ: rank tests and effect sizes, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scipy import stats

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """How far one sample lies above another."""

    test: str
    p: float  # two-sided
    effect: float  # Vargha and Delaney's A12: how often one of the first exceeds one of the second, ties half

    @property
    def significant(self) -> bool:
        return self.p < SIGNIFICANT

    @property
    def above(self) -> bool:
        """The first sample lies above the second, and not by chance."""
        return self.significant and self.effect > 0.5

    @property
    def below(self) -> bool:
        """The first sample lies below the second, and not by chance."""
        return self.significant and self.effect < 0.5

    @property
    def figures(self) -> str:
        return f"{_p(self.p)}, A12 {self.effect:.2f}"

    def __str__(self) -> str:
        return f"{self.test} {self.figures}"


def spread(values: Sequence[float], form: str = ",.1f") -> str:
    """The median, with the smallest and the largest."""
    if not values:
        return "–"
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Two independent samples, by ranks; infinity stands for a run that found nothing."""
    p = 1.0 if len({*first, *second}) == 1 else float(stats.mannwhitneyu(first, second, alternative="two-sided").pvalue)
    return Comparison("Mann–Whitney", p, a12(first, second))


def wilcoxon(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Pairs of one seed of randomness each, by signed ranks; pairs that tie count for neither."""
    differ = [one - other for one, other in zip(first, second, strict=True) if one != other]
    p = float(stats.wilcoxon(differ).pvalue) if differ else 1.0
    return Comparison("Wilcoxon", p, a12(first, second))


def fisher(found: int, of: int, found_second: int, of_second: int) -> Comparison:
    """How many runs of each found anything, by Fisher's exact test."""
    p = float(stats.fisher_exact([[found, of - found], [found_second, of_second - found_second]]).pvalue)
    return Comparison("Fisher", p, 0.5 + (found / of - found_second / of_second) / 2)


def a12(first: Sequence[float], second: Sequence[float]) -> float:
    """Vargha and Delaney's effect size: 0.5 if neither lies above the other, 1 if all of the first do."""
    wins = sum((one > other) + 0.5 * (one == other) for one in first for other in second)
    return wins / (len(first) * len(second))


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
