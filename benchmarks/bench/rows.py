"""What a script measured: a claim, its bar, a figure for each seed of randomness, and what was measured beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from paper.sample_statistics import spread

Pair = tuple[float, float]  # a rate or time, and that of what it is set beside


@dataclass(frozen=True)
class Bar:
    """What a claim asks for: at least this much, or at most; the aim is what we would like beyond it."""

    limit: float
    most: bool = False
    aim: float | None = None

    def met_by(self, value: float) -> bool:
        return value <= self.limit if self.most else value >= self.limit


def at_least(limit: float, aim: float | None = None) -> Bar:
    return Bar(limit, aim=aim)


def at_most(limit: float) -> Bar:
    return Bar(limit, most=True)


@dataclass(frozen=True)
class Figures:
    """One figure for each seed of randomness, or for each run where nothing is random."""

    values: tuple[float, ...]
    form: str = ".2f"  # how a value is written
    unit: str = "×"

    def shown(self, value: float) -> str:
        return f"{value:{self.form}}{self.unit}"

    def __str__(self) -> str:
        """The median with its unit, the smallest and the largest; of one value, that."""
        alone = len(self.values) == 1
        return self.shown(self.values[0]) if alone else spread(self.values, self.form, self.unit)


@dataclass(frozen=True)
class Beside:
    """What the figures are set beside, measured in the same run: mostly the model's bare pass."""

    what: str
    figures: Figures

    def __str__(self) -> str:
        return f"{self.what} {self.figures}"


@dataclass(frozen=True)
class Row:
    """A claim and what came out."""

    claim: str
    here: Figures
    budget: str  # of each run
    bar: Bar | None = None
    beside: Beside | None = None

    @property
    def asked(self) -> str:
        """The bar in words."""
        if self.bar is None:
            return ""
        aim = "" if self.bar.aim is None else f", aim {self.here.shown(self.bar.aim)}"
        return f"{'at most' if self.bar.most else 'at least'} {self.here.shown(self.bar.limit)}{aim}"

    @property
    def verdict(self) -> str:
        """Whether the bar was reached: by every run, in the median only, or not; empty without a bar."""
        if self.bar is None:
            return ""
        if all(map(self.bar.met_by, self.here.values)):
            return "reached"
        return "reached in the median only" if self.bar.met_by(median(self.here.values)) else "not reached"

    @property
    def runs(self) -> str:
        return f"{len(self.here.values)} × {self.budget}"

    def __str__(self) -> str:
        bar = f"bar {self.asked}: {self.verdict}" if self.bar else ""
        return "; ".join(filter(None, (f"{self.claim}: {self.here}", bar, str(self.beside or ""), self.runs)))

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> Row:
        """The row that `asdict` made this of."""
        bar, beside = told["bar"], told["beside"]
        return Row(
            told["claim"],
            _figures(told["here"]),
            told["budget"],
            None if bar is None else Bar(**bar),
            None if beside is None else Beside(beside["what"], _figures(beside["figures"])),
        )


def ratio_row(
    claim: str,
    pairs: Sequence[Pair],
    beside: str,
    budget: str,
    bar: Bar | None = None,
    form: str = ".2f",
    beside_form: str = ",.0f",
    beside_unit: str = "/s",
) -> Row:
    """What was measured as a share of what it is set beside, for each pair of the two."""
    ratios = tuple(one / other for one, other in pairs)
    others = tuple(other for _, other in pairs)
    return Row(claim, Figures(ratios, form), budget, bar, Beside(beside, Figures(others, beside_form, beside_unit)))


def _figures(told: Mapping[str, Any]) -> Figures:
    return Figures(tuple(told["values"]), told["form"], told["unit"])
