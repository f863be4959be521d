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
    """Which of `total` units were ever covered; the number `total` stands for covering nothing.

    The cost of a batch grows with its rows and not with the number of units. All batches have rows of one width.
    """

    def __init__(self, total: int):
        self._total = total
        self._known: _Owners | _Bits | None = None  # until it is known how wide rows are
        self.count = 0  # of units covered

    def add(self, units: Tensor) -> Tensor:
        """How many units each row is the first to cover [batch], rows in order; `units` [batch, n] differ in a row."""
        if self._known is None:
            self._known = (_Bits if units.shape[1] >= WIDE else _Owners)(self._total)
        gains = self._known.add(units)
        self.count += int(gains.sum())
        return gains

    def covered(self) -> Tensor:
        """[total] bool"""
        return torch.zeros(self._total, dtype=torch.bool) if self._known is None else self._known.covered()


class _Bits:
    """A bit a unit: a row of a large network looks at many places far from each other, which must be near."""

    def __init__(self, total: int):
        self._total, self._bits = total, np.zeros(total // 8 + 1, np.uint8)
        self._bits[total // 8] = 1 << total % 8

    def add(self, units: Tensor) -> Tensor:
        """One row after another."""
        return torch.tensor([self._add_row(row) for row in units.numpy()], dtype=torch.int64)

    def _add_row(self, units: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
        places, bits = units >> 3, np.left_shift(np.uint8(1), (units & 7).astype(np.uint8))
        new = np.flatnonzero(self._bits[places] & bits == 0)
        np.bitwise_or.at(self._bits, places[new], bits[new])
        return len(new)

    def covered(self) -> Tensor:
        return torch.from_numpy(np.unpackbits(self._bits, count=self._total, bitorder="little").astype(bool))


class _Owners:
    """Two bytes a unit, in which rows of a batch claim what they are the first to cover."""

    def __init__(self, total: int):
        self._first = torch.full((total + 1,), NEVER, dtype=torch.int16)
        self._first[total] = SEEN

    def add(self, units: Tensor) -> Tensor:
        return torch.cat([self._add(some) for some in units.split(AT_ONCE)])

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
        return self._first[:-1] == SEEN
