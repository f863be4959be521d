"""Choosers by age: every entry alike, or rather what was found last, which makes the search run deep."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import HELD, number
from jostle.part import Part, first_line


@dataclass(frozen=True)
class RecentOptions:
    """How few are the newest few."""

    newest: int = option(HELD, "How many of the newest entries `recent` prefers", Theme.SCHEDULING, default=5)


@dataclass(frozen=True)
class SmoothOptions:
    """How much the newest are preferred."""

    recency: float = option(
        number("give a number from 0 (breadth-first) to below 1 (depth-first)", at_least=0, below=1),
        "Of `smooth`: 0 is breadth-first, towards 1 depth-first",
        Theme.SCHEDULING,
        default=0.5,
    )


class Uniform:
    """Every corpus entry is equally likely: breadth-first."""

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        return torch.randint(entries, (children,), generator=rng)


class NewestFew:
    """Uniform over the newest few entries and one drawn from all (TensorFuzz's own chooser)."""

    def __init__(self, newest: int = RecentOptions.newest):
        check(RecentOptions, newest=newest)
        self._newest = newest

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        newest = min(self._newest, entries)
        pick = torch.randint(newest + 1, (children,), generator=rng)
        anyone = torch.randint(entries, (children,), generator=rng)
        return torch.where(pick < newest, entries - 1 - pick, anyone)


class SmoothRecency:
    """From breadth-first (bias 0) to depth-first (bias towards 1) with one hyper-parameter."""

    def __init__(self, bias: float = SmoothOptions.recency):
        check(SmoothOptions, recency=bias)
        self._exponent = 1 / (1 - bias)

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        age = torch.rand(children, generator=rng, dtype=torch.float64) ** self._exponent
        return entries - 1 - (age * entries).long().clamp(max=entries - 1)


UNIFORM = Part(first_line(Uniform), lambda settings, _: Uniform())
RECENT = Part(first_line(NewestFew), lambda settings, _: NewestFew(settings[RecentOptions].newest), (RecentOptions,))
SMOOTH = Part(
    first_line(SmoothRecency), lambda settings, _: SmoothRecency(settings[SmoothOptions].recency), (SmoothOptions,)
)
