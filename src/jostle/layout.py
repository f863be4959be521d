"""Several inputs of a model in one row: where each lies, and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import torch
from torch import Tensor

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32)
}
WHOLE_UP_TO = 2**24  # beyond, float32 does not tell whole numbers apart


@dataclass(frozen=True)
class Field:
    """One of the inputs."""

    name: str
    shape: tuple[int, ...]  # without the batch
    dtype: torch.dtype = torch.float32

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def whole(self) -> bool:
        """Its values are whole numbers."""
        return not self.dtype.is_floating_point


@dataclass(frozen=True)
class Layout:
    """The inputs in a row, one behind another, each flattened.

    Law: `unpacked(packed(arrays))` are the arrays again.
    """

    fields: tuple[Field, ...]
    by_name: bool = True  # names are those of the model's parameters, else their order counts

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def places(self) -> dict[str, slice]:
        """By name, where in a row an input lies."""
        ends = torch.tensor([field.size for field in self.fields]).cumsum(0).tolist()
        return {field.name: slice(end - field.size, end) for field, end in zip(self.fields, ends, strict=True)}

    @cached_property
    def _fields(self) -> dict[str, Field]:
        return {field.name: field for field in self.fields}

    def field(self, name: str) -> Field:
        return self._fields[name]

    def packed(self, arrays: Mapping[str, Tensor]) -> Tensor:
        """Arrays [batch, ...] by name as rows [batch, total]."""
        return torch.cat([arrays[field.name].reshape(-1, field.size).float() for field in self.fields], 1)

    def unpacked(self, rows: Tensor) -> dict[str, Tensor]:
        """Rows [batch, total] as arrays [batch, ...] by name, whole numbers in their own type, the others as views."""
        return {field.name: _typed(self.values(rows, field.name), field) for field in self.fields}

    def values(self, rows: Tensor, name: str) -> Tensor:
        """One of the inputs [batch, ...] as a view of rows [batch, total]."""
        return rows[:, self.places[name]].view(len(rows), *self._fields[name].shape)

    def replaced(self, rows: Tensor, name: str, values: Tensor) -> Tensor:
        """The same rows with other values [batch, ...] of one input, written in place."""
        rows[:, self.places[name]] = values.reshape(len(rows), -1).to(rows.dtype)
        return rows

    def as_json(self) -> dict[str, Any]:
        fields = [[one.name, list(one.shape), str(one.dtype).removeprefix("torch.")] for one in self.fields]
        return {"fields": fields, "by_name": self.by_name}

    @staticmethod
    def parsed(value: Mapping[str, Any]) -> Layout:
        """The layout that has this JSON; ValueError where none has."""
        try:
            fields = tuple(Field(str(name), _shape(shape), DTYPES[dtype]) for name, shape, dtype in value["fields"])
            return Layout(fields, bool(value["by_name"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no layout of several inputs: {error}") from error


def _shape(sizes: Any) -> tuple[int, ...]:
    if not all(isinstance(size, int) and 0 <= size < WHOLE_UP_TO for size in sizes):
        raise ValueError("the shape of an input is no list of whole numbers")
    return tuple(sizes)


def _typed(values: Tensor, field: Field) -> Tensor:
    return values.round().to(field.dtype) if field.whole else values
