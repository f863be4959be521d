"""Choosers that prefer what was found last, which makes the search run deep."""

import torch
from torch import Tensor

from jostle.errors import UsageError


class NewestFew:
    """Uniform over the newest few entries and one drawn from all (TensorFuzz's own chooser)."""

    def __init__(self, newest: int = 5):
        if newest < 1:
            raise UsageError(f"--newest {newest}: give at least 1")
        self._newest = newest

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        newest = min(self._newest, entries)
        pick = torch.randint(newest + 1, (children,), generator=rng)
        anyone = torch.randint(entries, (children,), generator=rng)
        return torch.where(pick < newest, entries - 1 - pick, anyone)


class SmoothRecency:
    """From breadth-first (bias 0) to depth-first (bias towards 1) with one hyper-parameter."""

    def __init__(self, bias: float = 0.5):
        if not 0 <= bias < 1:
            raise UsageError(f"--recency {bias}: give a number from 0 (breadth-first) to below 1 (depth-first)")
        self._exponent = 1 / (1 - bias)

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        age = torch.rand(children, generator=rng, dtype=torch.float64) ** self._exponent
        return entries - 1 - (age * entries).long().clamp(max=entries - 1)
