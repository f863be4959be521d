"""What the seeds of a table say of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from jostle.inputs.table import Table
from jostle.inputs.table_columns import Column, ColumnKind, shortest
from jostle.inputs.table_groups import SUM_TOLERANCE, Group, Together

FEWEST_SHARES = 3  # columns that sum to one in every seed, to be taken for shares
FEWEST_SEEDS = 8  # in which they do, because fewer may do so by chance


def inferred_table(
    inputs: Tensor,  # [seeds, columns]
    names: Sequence[str] = (),
    categories: Mapping[int, tuple[str, ...]] | None = None,  # by column, what codes 0, 1, 2… stand for
    label: str = "",
) -> Table:
    """Each column from its smallest to its largest value; what never changes is fixed."""
    values = inputs.float().nan_to_num()
    names = names or [f"x{place}" for place in range(values.shape[1])]
    ends = zip(values.amin(0).tolist(), values.amax(0).tolist(), strict=True)
    whole = (values == values.round()).all(0).tolist()
    texts = categories or {}
    columns = [
        _column(name, low, high, whole[place], texts.get(place, ()))
        for place, (name, (low, high)) in enumerate(zip(names, ends, strict=True))
    ]
    groups = list(_shares(values, columns))
    for group in groups:
        if group.together is Together.SHARES:
            for place in group.columns:
                columns[place] = replace(columns[place], kind=ColumnKind.REAL)
    return Table(tuple(columns), tuple(groups), label)


def _column(name: str, low: float, high: float, whole: bool, labels: tuple[str, ...]) -> Column:
    low, high, fixed = shortest(low), shortest(high), low == high
    if labels:
        codes = tuple(map(float, range(len(labels))))
        return Column(name, ColumnKind.CATEGORY, 0.0, codes[-1], fixed, codes, labels)
    if whole and not fixed and (low, high) == (0, 1):
        return Column(name, ColumnKind.BOOLEAN, 0.0, 1.0)
    return Column(name, ColumnKind.INTEGER if whole else ColumnKind.REAL, low, high, fixed)


def _shares(values: Tensor, columns: Sequence[Column]) -> Iterator[Group]:
    """Runs of columns that are not negative and sum to one in every seed; columns of zeros among them are left out."""
    start = 0 if len(values) >= FEWEST_SEEDS else len(columns)
    while start < len(columns):
        end = _end_of_run(values, columns, start)
        members = tuple(place for place in range(start, end) if not columns[place].fixed)
        if len(members) >= FEWEST_SHARES:
            together = all(columns[place].kind is ColumnKind.BOOLEAN for place in members)
            yield Group(Together.ONE_HOT if together else Together.SHARES, members)
            start = end
        else:
            start += 1


def _end_of_run(values: Tensor, columns: Sequence[Column], start: int) -> int:
    """Where the columns from start on have summed to one, start itself if they never do."""
    sums = torch.zeros(len(values), dtype=torch.float64)
    for place in range(start, len(columns)):
        column = columns[place]
        never = column.labels or column.low < 0 or (column.fixed and column.low != 0)
        sums += values[:, place]
        if never or sums.max() > 1 + SUM_TOLERANCE:
            return start
        if sums.min() >= 1 - SUM_TOLERANCE:
            return place + 1
    return start
