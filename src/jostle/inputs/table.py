"""Tables: what each column may hold, and which columns belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from jostle.domain import Outside
from jostle.inputs.table_columns import Column, ColumnKind
from jostle.inputs.table_groups import Group, Together

TABLE = "table"
SHOWN_COLUMNS = 8  # at the start of a campaign
CHANGE = "change.txt"  # in the folder of a finding


@dataclass(frozen=True)
class Table:
    """Rows of numbers, each column with its own values; inputs are [batch, columns]."""

    columns: tuple[Column, ...]
    groups: tuple[Group, ...] = ()
    label: str = ""  # the column of the file that holds labels, which inputs leave out
    kind: str = TABLE
    mutator: str = TABLE

    @cached_property
    def low(self) -> Tensor:  # [columns]
        return torch.tensor([column.low for column in self.columns])

    @cached_property
    def high(self) -> Tensor:  # [columns]
        return torch.tensor([column.high for column in self.columns])

    @cached_property
    def span(self) -> Tensor:  # [columns]
        return self.high - self.low

    @cached_property
    def fixed(self) -> Tensor:  # [columns] bool
        return torch.tensor([column.fixed for column in self.columns])

    @cached_property
    def whole(self) -> Tensor:  # [columns] bool
        return torch.tensor([column.kind is not ColumnKind.REAL and not column.gapped for column in self.columns])

    @cached_property
    def unordered(self) -> Tensor:  # [columns] bool: of booleans and categories
        return torch.tensor([column.unordered for column in self.columns])

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def _places(self) -> list[tuple[Group, Tensor]]:
        return [(group, torch.tensor(group.columns)) for group in self.groups]

    @cached_property
    def _gapped(self) -> list[tuple[int, Tensor]]:
        """Columns whose codes are not 0, 1, 2…, and their codes."""
        return [(place, torch.tensor(one.codes)) for place, one in enumerate(self.columns) if one.gapped]

    @cached_property
    def _any(self) -> tuple[bool, bool]:
        """Whether some column is whole, and whether some is fixed."""
        return bool(self.whole.any()), bool(self.fixed.any())

    def nearest(self, inputs: Tensor, roots: Tensor) -> Tensor:
        return self.bounded(inputs, roots, self.low, self.high)

    def bounded(self, inputs: Tensor, roots: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """As `nearest`, within tighter bounds [columns] or [batch, columns] that the roots keep to.

        Bounds of whole columns are whole, and those of ordered columns do not fall.
        """
        children = torch.clamp(inputs, low, high)
        whole, fixed = self._any
        for group, places in self._places:
            bounds = (bound[..., places] for bound in (low, high))
            children[:, places] = group.nearest(children[:, places], *bounds)
        if whole:
            children = torch.where(self.whole, children.round(), children)
        for place, codes in self._gapped:
            children[:, place] = codes[(children[:, place, None] - codes).abs().argmin(1)]
        return torch.where(self.fixed, roots, children) if fixed else children

    def outside(self, inputs: Tensor) -> Outside | None:
        # What is not in order comes first, because it is what explains a value beyond bounds that are in order.
        return self._discord(inputs, True) or self._misfit(inputs) or self._discord(inputs, False)

    def _misfit(self, inputs: Tensor) -> Outside | None:
        """The first value that is none of its column."""
        bad = ~((inputs >= self.low) & (inputs <= self.high)) | (self.whole & (inputs != inputs.round()))
        for place, codes in self._gapped:
            bad[:, place] |= ~torch.isin(inputs[:, place], codes)
        if not bad.any():
            return None
        row, place = bad.nonzero()[0].tolist()
        return Outside(row, self._told(place, float(inputs[row, place])))

    def _discord(self, inputs: Tensor, ordered: bool) -> Outside | None:
        """The first row in which columns do not go together, of groups that are ordered or of others."""
        for group, places in self._places:
            broken = group.broken(inputs[:, places])
            if (group.together is Together.ORDERED) == ordered and broken.any():
                row = int(broken.nonzero()[0])
                return Outside(row, self._told_of_group(group, inputs[row, places]))
        return None

    def _told(self, place: int, value: float) -> str:
        column = self.columns[place]
        if column.codes or column.kind is ColumnKind.BOOLEAN:
            return f"{column.name} is {value:.9g}, none of {column.describe()}"
        if column.low <= value <= column.high:
            return f"{column.name} is {value:.9g}, not a whole number"
        bound = f"below {column.low:.9g}" if value < column.low else f"above {column.high:.9g}"
        return f"{column.name} is {value:.9g}, {bound}"

    def _told_of_group(self, group: Group, values: Tensor) -> str:
        names = ", ".join(self.names[place] for place in group.columns)
        if group.together is Together.ORDERED:
            return f"{names} are {', '.join(f'{value:.6g}' for value in values.tolist())}, and must not fall"
        return f"{names} sum to {float(values.sum()):.6g}, not 1"

    def lines(self) -> list[str]:
        kinds = Counter(str(column.kind) for column in self.columns if not column.fixed)
        kinds["fixed"] = int(self.fixed.sum())
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
        free = [f"{column.name} {column.describe()}" for column in self.columns if not column.fixed]
        more = ["…"] if len(free) > SHOWN_COLUMNS else []
        told = [f"table of {len(self.columns)} columns ({counted}): {', '.join([*free[:SHOWN_COLUMNS], *more])}"]
        for group in self.groups:
            told.append(f"{', '.join(self.names[place] for place in group.columns)} {group.together}")
        return [*told, f"labels are those of column {self.label}"] if self.label else told

    def as_toml(self) -> dict[str, Any]:
        sums = [self._named(group) for group in self.groups if group.together is not Together.ORDERED]
        ordered = [self._named(group) for group in self.groups if group.together is Together.ORDERED]
        return {
            "kind": self.kind,
            "sums_to_one": sums,
            "ordered": ordered,
            "column": {column.name: column.as_toml() for column in self.columns},
        }

    def _named(self, group: Group) -> list[str]:
        return [self.names[place] for place in group.columns]

    def files(self, input: Tensor, reference: Tensor) -> Mapping[str, bytes]:
        rows = [("column", "seed", "input")]
        for place in (input != reference).nonzero().flatten().tolist():
            column = self.columns[place]
            rows.append((column.name, column.shown(float(reference[place])), column.shown(float(input[place]))))
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return {CHANGE: "".join(f"{line.rstrip()}\n" for line in padded).encode()}
