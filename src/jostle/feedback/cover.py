"""Few rows that cover all units: greedy set cover on sparse arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

ROUNDING = 1e-9
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Reals = np.ndarray[Any, np.dtype[np.float64]]


def covering_rows(rows: Tensor, units: Tensor, sizes: Tensor | None = None, share: float = 1.0) -> Tensor:
    """Rows, in the order chosen, that together cover at least a share of the units that any row covers.

    Pair i says that row `rows[i]` covers unit `units[i]`; sizes [rows] are above 0. Each time, the row is chosen that
    covers most for its size of what is still uncovered, where a unit counts the more the fewer rows cover it; then
    only the rows that share its units are counted anew. All rows are of size 1 unless told otherwise.
    """
    pairs = np.unique(np.stack([rows.numpy(), units.numpy()], 1), axis=0)
    if not len(pairs):
        return torch.empty(0, dtype=torch.int64)
    _, of_unit, holders = np.unique(pairs[:, 1], return_inverse=True, return_counts=True)
    search = _Search(pairs[:, 0], of_unit, 1 + 1 / holders)
    weights = np.ones(len(search.worth)) if sizes is None else sizes.double().numpy()[: len(search.worth)]
    needed = math.ceil(share * len(holders) - ROUNDING)
    chosen: list[int] = []
    while search.covered < needed:
        chosen.append(int((search.worth / weights).argmax()))
        search.choose(chosen[-1])
    return torch.tensor(chosen, dtype=torch.int64)


class _Search:
    """What each row would add to the units that are covered so far."""

    def __init__(self, of_row: Numbers, of_unit: Numbers, worths: Reals):
        """Pair i says that row of_row[i], in order, covers unit of_unit[i]; worths are of units."""
        self._of_unit, self._worths = of_unit, worths
        self._row_starts = np.searchsorted(of_row, np.arange(of_row[-1] + 2))
        by_unit = np.argsort(of_unit, kind="stable")
        self._holders = of_row[by_unit]
        self._unit_starts = np.searchsorted(of_unit[by_unit], np.arange(len(worths) + 1))
        self._uncovered = np.ones(len(worths), dtype=bool)
        self.worth = np.bincount(of_row, worths[of_unit])  # [rows] of what is uncovered

    @property
    def covered(self) -> int:
        return len(self._uncovered) - int(self._uncovered.sum())

    def choose(self, row: int) -> None:
        own = self._of_unit[self._row_starts[row] : self._row_starts[row + 1]]
        new = own[self._uncovered[own]]
        self._uncovered[new] = False
        counts = self._unit_starts[new + 1] - self._unit_starts[new]
        holders = _ranges(self._holders, self._unit_starts, new)
        self.worth -= np.bincount(holders, np.repeat(self._worths[new], counts), minlength=len(self.worth))
        self.worth[row] = -1.0  # it is never chosen twice, whatever rounding leaves


def _ranges(values: Numbers, starts: Numbers, which: Numbers) -> Numbers:
    """The values of these ranges, one after another; range i is from starts[i] to starts[i + 1]."""
    sizes = starts[which + 1] - starts[which]
    ends = np.cumsum(sizes)
    within = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
    found: Numbers = values[np.repeat(starts[which], sizes) + within]
    return found
