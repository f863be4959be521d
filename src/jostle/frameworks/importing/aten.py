"""What a translation of torch's own graphs is, and how it reads a call's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jostle.frameworks.importing.building import GraphBuilder

Arguments = Mapping[str, Any]  # by torch's names; tensors by their names in the graph
# What a call of torch's operator becomes: the name of its result, or several. The last argument is torch's result.
Translation = Callable[[GraphBuilder, Arguments, Any], Any]


class Untranslated(Exception):
    """An operator, or a way of calling it, that has no counterpart; says which."""


def dtype_of(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def axes_of(given: Arguments, rank: int) -> list[int]:
    dim = given.get("dim")
    dims = [dim] if isinstance(dim, int) else dim or range(rank)
    return sorted(axis % rank for axis in dims)


def or_full(builder: GraphBuilder, name: str | None, shape: Sequence[int], fill: float, value: Any) -> str:
    return builder.full(shape, fill, dtype_of(value)) if name is None else name


def per_axis(value: int | Sequence[int], axes: int) -> list[int]:
    """torch takes one number for all axes, or one for each."""
    values = [value] if isinstance(value, int) else list(value)
    return values * axes if len(values) == 1 else values
