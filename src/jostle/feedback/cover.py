"""Few rows that cover all units: greedy set cover on sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def covering_rows(rows: Tensor, units: Tensor) -> Tensor:
    """Rows, in the order chosen, that together cover every unit that any row covers.

    Pair i says that row `rows[i]` covers unit `units[i]`. Each time, the row that covers most of what is still
    uncovered is chosen, the first among equals; then only the rows that share its units are counted anew.
    """
    pairs = np.unique(np.stack([rows.numpy(), units.numpy()], 1), axis=0)
    if not len(pairs):
        return torch.empty(0, dtype=torch.int64)
    _, of_unit = np.unique(pairs[:, 1], return_inverse=True)
    of_row = pairs[:, 0]
    row_starts = np.searchsorted(of_row, np.arange(of_row[-1] + 2))
    by_unit = np.argsort(of_unit, kind="stable")
    holders = of_row[by_unit]
    unit_starts = np.searchsorted(of_unit[by_unit], np.arange(of_unit.max() + 2))
    left = np.diff(row_starts)  # how many uncovered units each row covers
    uncovered = np.ones(len(unit_starts) - 1, dtype=bool)
    chosen: list[int] = []
    while left.any():
        best = int(left.argmax())
        chosen.append(best)
        own = of_unit[row_starts[best] : row_starts[best + 1]]
        new = own[uncovered[own]]
        uncovered[new] = False
        left -= np.bincount(_ranges(holders, unit_starts, new), minlength=len(left))
    return torch.tensor(chosen)


def _ranges(values: Numbers, starts: Numbers, which: Numbers) -> Numbers:
    """The values of these ranges, one after another; range i is from starts[i] to starts[i + 1]."""
    sizes = starts[which + 1] - starts[which]
    ends = np.cumsum(sizes)
    within = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
    found: Numbers = values[np.repeat(starts[which], sizes) + within]
    return found
