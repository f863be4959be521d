"""First-time bookkeeping for every criterion that counts units."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

SEEN = -1
NEVER = torch.iinfo(torch.int16).max
AT_ONCE = 2**14  # rows, fewer than NEVER
WIDE = 4096  # units in a row, from which on rows one by one cost less: they are looked up and written once


class NewUnits:
    """Which of `total` units were ever covered, on one flat map; the number `total` stands for covering nothing.

    Two bytes a unit. The cost of a batch grows with its rows and not with the number of units.
    """

    def __init__(self, total: int):
        self._first = torch.full((total + 1,), NEVER, dtype=torch.int16)
        self._first[total] = SEEN
        self.count = 0  # of units covered

    def add(self, units: Tensor) -> Tensor:
        """How many units each row is the first to cover [batch], rows in order; `units` [batch, n] differ in a row."""
        add = self._add_rows if units.shape[1] >= WIDE else self._add
        gains = torch.cat([add(some) for some in units.split(AT_ONCE)])
        self.count += int(gains.sum())
        return gains

    def _add_rows(self, units: Tensor) -> Tensor:
        """One row after another."""
        first, gains = self._first.numpy(), []
        for row in units.numpy():
            new = row[first[row] == NEVER]
            first[new] = SEEN
            gains.append(len(new))
        return torch.tensor(gains, dtype=torch.int64)

    def _add(self, units: Tensor) -> Tensor:
        """All rows at once."""
        numbers, first = units.numpy().reshape(-1), self._first.numpy()
        new = np.flatnonzero(first[numbers] == NEVER)
        found, rows = torch.from_numpy(numbers[new]), torch.from_numpy(new // units.shape[1])
        claims = rows.to(torch.int16)
        self._first.scatter_reduce_(0, found, claims, "amin")  # the first of the rows that cover a unit owns it
        owned = self._first.index_select(0, found) == claims
        self._first.index_fill_(0, found, SEEN)
        return torch.bincount(rows[owned], minlength=len(units))

    def covered(self) -> Tensor:
        """[total] bool"""
        return self._first[:-1] == SEEN
