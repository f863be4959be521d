"""Figures over seeds of randomness, and whether two samples differ, as text: rank tests and effect sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from jostle.commands.run_statistics import SIGNIFICANT, Spread, ranked


@dataclass(frozen=True)
class Comparison:
    """How far one sample lies above another."""

    test: str
    p: float  # two-sided
    effect: float  # how often one of the first exceeds one of the second, ties half
    pairs: str = ""  # what stands in place of Vargha and Delaney's A12, which compares each with each

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
        return f"{_p(self.p)}, {self.pairs or f'A12 {self.effect:.2f}'}"

    def __str__(self) -> str:
        return f"{self.test} {self.figures}"


def spread(values: Sequence[float], form: str = ",.1f", unit: str = "") -> str:
    """The median with its unit, the smallest and the largest."""
    if not values:
        return "–"
    told = Spread.of(values)
    return f"{told.median:{form}}{unit} ({told.smallest:{form}} to {told.largest:{form}})"


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Two independent samples, by ranks; infinity stands for a run that found nothing."""
    tested = ranked(first, second)
    return Comparison("Mann–Whitney", tested.p, tested.a12)


def wilcoxon(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Pairs, by signed ranks; those that tie count for neither."""
    pairs = list(zip(first, second, strict=True))
    differ = [one - other for one, other in pairs if one != other]
    p = float(stats.wilcoxon(differ).pvalue) if differ else 1.0
    larger = sum(difference > 0 for difference in differ)
    smaller, count = len(differ) - larger, len(pairs)
    told = f"larger in {larger} and smaller in {smaller} of {count} pairs"
    return Comparison("Wilcoxon", p, 0.5 + (larger - smaller) / (2 * count), told)


def fisher(found: int, of: int, found_second: int, of_second: int) -> Comparison:
    """How many runs of each found anything, by Fisher's exact test."""
    p = float(stats.fisher_exact([[found, of - found], [found_second, of_second - found_second]]).pvalue)
    return Comparison("Fisher", p, 0.5 + (found / of - found_second / of_second) / 2)


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
