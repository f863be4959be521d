"""Operators that go by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, has_axes, has_wide_axes
from jostle.frameworks.operators.operator import (
    AXIS,
    Choice,
    Operator,
    Rounding,
    Types,
    Wanted,
    Whole,
    count_of,
    is_wide,
    require,
    require_axis,
)


def _gather(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    data, indices, axis = types[0], types[1], attributes["axis"]
    require_axis(axis, data.rank)
    require(indices.dtype == "int64" and indices.rank == data.rank, "indices are int64 of the same rank")
    pairs = enumerate(zip(indices.shape, data.shape, strict=True))
    require(all(a == b for at, (a, b) in pairs if at != axis), "indices differ in size beside the axis")
    require(data.shape[axis] > 0 or indices.size == 0, "nothing to take from")
    return TensorType(indices.shape, data.dtype)


def _gather_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    axis = attributes["axis"]
    require(first.shape[axis] > 0, "nothing to take from")
    shape = list(first.shape)
    shape[axis] = int(rng.integers(1, 4))
    return (Wanted(tuple(shape), "int64", "indices", first.shape[axis]),)


def _take(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    data, indices, axis = types[0], types[1], attributes["axis"]
    require_axis(axis, data.rank)
    require(indices.dtype == "int64" and indices.rank == 1, "indices are int64 of rank 1")
    require(data.shape[axis] > 0 or indices.size == 0, "nothing to take from")
    return TensorType((*data.shape[:axis], indices.shape[0], *data.shape[axis + 1 :]), data.dtype)


def _take_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    require(first.shape[attributes["axis"]] > 0, "nothing to take from")
    return (Wanted((int(rng.integers(1, 5)),), "int64", "indices", first.shape[attributes["axis"]]),)


def _scatter(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 3)
    data, indices, updates = types
    _gather((data, indices), attributes)
    require(updates.shape == indices.shape and updates.dtype == data.dtype, "updates do not fit the indices")
    require(is_wide(data), f"is not defined on {data.dtype}")
    return data


def _scatter_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    (indices,) = _gather_extras(first, attributes, rng)
    return indices, Wanted(indices.shape, first.dtype, "values")


def _one_hot(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(types[0].dtype == "int64" and attributes["depth"] > 0, "is defined on int64 only")
    return TensorType((*types[0].shape, attributes["depth"]), "float32")


INDEXING = (
    Operator(
        "gather",
        "x[…, indices[…], …] along an axis, as numpy's take_along_axis",
        _gather,
        has_axes,
        {"axis": AXIS},
        _gather_extras,
        rounding=Rounding.EXACT,
    ),
    Operator(
        "take",
        "the slices of an axis at these positions, as numpy's take",
        _take,
        has_axes,
        {"axis": AXIS},
        _take_extras,
        rounding=Rounding.EXACT,
    ),
    Operator(
        "scatter",
        "x with updates put in along an axis where indices say, combined with what is there: add, mul, max, min",
        _scatter,
        has_wide_axes,
        {"axis": AXIS, "reduction": Choice(("add", "mul", "max", "min"))},
        _scatter_extras,
    ),
    Operator(
        "one_hot",
        "1 at the position that x names, as float32 along a new last axis; all 0 where it names none",
        _one_hot,
        lambda x: x.dtype == "int64" and x.rank < 5,
        {"depth": Whole(1, 6)},
        differentiable=False,
        discontinuous=True,
        rounding=Rounding.EXACT,
    ),
)
