"""Columns of a table that belong together, and the nearest values that keep to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

SUM_TOLERANCE = 1e-4  # of what sums to one, as float32 adds up


class Together(StrEnum):
    """What holds of the columns of a group."""

    SHARES = "sum to one"
    ONE_HOT = "are 1 in one place"
    ORDERED = "do not fall"


@dataclass(frozen=True)
class Group:
    """Columns and what holds of them in every row."""

    together: Together
    columns: tuple[int, ...]

    def nearest(self, values: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Values [rows, columns of the group] that keep to it, within bounds that some such values keep to.

        Values that are within the bounds and keep to it are given back as they are.
        """
        if self.together is Together.SHARES:
            return as_shares(values, low, high)
        return one_hot(values) if self.together is Together.ONE_HOT else values.sort(1).values

    def broken(self, values: Tensor) -> Tensor:
        """[rows] bool: where values [rows, columns of the group] do not keep to it."""
        if self.together is Together.ORDERED:
            return (values.diff(dim=1) < 0).any(1)
        return ~((values.double().sum(1) - 1).abs() <= 2 * SUM_TOLERANCE)


def as_shares(values: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Values [rows, columns] that sum to one: what is missing is shared out by the room within bounds.

    One such step is enough, because no value gets more than its room.
    """
    missing = 1 - values.sum(1, keepdim=True)
    room = torch.where(missing > 0, high - values, values - low)
    added = missing * room / room.sum(1, keepdim=True).clamp(min=1e-30)
    return torch.where(missing.abs() <= SUM_TOLERANCE, values, torch.clamp(values + added, low, high))


def one_hot(values: Tensor) -> Tensor:
    """1 where a row [rows, columns] is largest, 0 elsewhere."""
    return torch.zeros_like(values).scatter_(1, values.argmax(1, keepdim=True), 1.0)
