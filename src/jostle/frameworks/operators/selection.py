"""Operators that pick, fill or add up elements by positions or conditions, and that go by diagonals."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, has_axes, has_wide_axes
from jostle.frameworks.operators.operator import (
    AXIS,
    Accepts,
    Choice,
    Drawn,
    Extras,
    Infer,
    OperandDomain,
    Operator,
    Real,
    Rounding,
    Types,
    Wanted,
    Whole,
    broadcast,
    count_of,
    is_wide,
    require,
    require_axis,
)

LARGEST_COUNT = 64


def _moving(
    name: str,
    meaning: str,
    infer: Infer,
    accepts: Accepts,
    extras: Extras,
    rounding: Rounding = Rounding.EXACT,
    **domains: OperandDomain,
) -> Operator:
    return Operator(name, meaning, infer, accepts, domains, extras, rounding=rounding)


def _alone(name: str, meaning: str, infer: Infer, accepts: Accepts, **domains: OperandDomain) -> Operator:
    return Operator(name, meaning, infer, accepts, domains, rounding=Rounding.EXACT)


def _masked_fill(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    first, mask = types
    require(first.is_float and mask.dtype == "bool", "is defined on floats, with a mask of bool")
    require(broadcast(first.shape, mask.shape) == first.shape, "the mask does not fit")
    return first


def _mask(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    shape = tuple(1 if rng.random() < 0.3 else size for size in first.shape)
    return (Wanted(shape, "bool", "mask"),)


def _checked_indices(indices: TensorType) -> None:
    require(indices.dtype == "int64", "indices are int64")


def _index_add(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 3)
    (first, indices, updates), axis = types, attributes["axis"]
    require(is_wide(first) and first.dtype == updates.dtype, "updates do not fit")
    _checked_indices(indices)
    require_axis(axis, first.rank)
    require(indices.rank == 1 and first.shape[axis] > 0, "indices are of rank 1")
    require(updates.shape == (*first.shape[:axis], indices.size, *first.shape[axis + 1 :]), "updates do not fit")
    return first


def _added_slices(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    axis, count = attributes["axis"], int(rng.integers(1, 5))
    require(first.shape[axis] > 0, "there is no place")
    shape = (*first.shape[:axis], count, *first.shape[axis + 1 :])
    return Wanted((count,), "int64", "indices", first.shape[axis]), Wanted(shape, first.dtype, "values")


def _scatter_mean(types: Types, attributes: Attributes) -> TensorType:
    require(types[0].is_float, f"is not defined on {types[0].dtype}")
    count_of(types, 3)
    (first, indices, updates), axis = types, attributes["axis"]
    require_axis(axis, first.rank)
    _checked_indices(indices)
    require(indices.shape == updates.shape and updates.dtype == first.dtype, "updates do not fit the indices")
    require(indices.rank == first.rank and first.shape[axis] > 0, "indices are of the same rank")
    sizes = enumerate(zip(first.shape, indices.shape, strict=True))
    require(all(a == b for at, (a, b) in sizes if at != axis), "indices differ in size beside the axis")
    return first


def _scattered(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    axis = attributes["axis"]
    require(first.shape[axis] > 0, "there is no place")
    shape = (*first.shape[:axis], int(rng.integers(1, 4)), *first.shape[axis + 1 :])
    return Wanted(shape, "int64", "indices", first.shape[axis]), Wanted(shape, first.dtype, "values")


def _places(first: TensorType, indices: TensorType) -> int:
    """How many axes the rows of indices name; only leading axes of one size, so that any number in it is a place."""
    _checked_indices(indices)
    require(indices.rank == 2 and indices.size > 0, "indices are rows")
    depth = indices.shape[1]
    require(0 < depth <= first.rank and min(first.shape[:depth]) > 0, "there are fewer axes")
    return depth


def _gather_nd(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    depth = _places(types[0], types[1])
    return TensorType((types[1].shape[0], *types[0].shape[depth:]), types[0].dtype)


def _rows_of_indices(first: TensorType, rng: Random) -> Wanted:
    require(first.rank > 0 and min(first.shape) > 0, "there is no place")
    depth = int(rng.integers(1, first.rank + 1))
    return Wanted((int(rng.integers(1, 5)), depth), "int64", "indices", min(first.shape[:depth]))


def _scatter_nd_add(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 3)
    first, indices, updates = types
    depth = _places(first, indices)
    require(is_wide(first) and updates.dtype == first.dtype, "updates do not fit")
    require(updates.shape == (indices.shape[0], *first.shape[depth:]), "updates do not fit")
    return first


def _scatter_nd_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    indices = _rows_of_indices(first, rng)
    updates = (indices.shape[0], *first.shape[indices.shape[1] :])
    return indices, Wanted(updates, first.dtype, "values")


def _segment_sum(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    first, segments = types
    count = attributes["segments"]
    require(is_wide(first) and first.rank > 0 and 0 < count <= LARGEST_COUNT, "is defined on rows")
    _checked_indices(segments)
    require(segments.shape == first.shape[:1], "a segment for every row is needed")
    return TensorType((count, *first.shape[1:]), first.dtype)


def _segments(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (Wanted(first.shape[:1], "int64", "indices", attributes["segments"]),)


def _embedding_bag(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    table, bags = types
    require(table.is_float and table.rank == 2 and table.size > 0, "is defined on a table")
    _checked_indices(bags)
    require(bags.rank == 2 and bags.size > 0, "bags are rows of indices")
    return TensorType((bags.shape[0], table.shape[1]), table.dtype)


def _bags(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    shape = (int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    return (Wanted(shape, "int64", "indices", first.shape[0]),)


def _reverse_sequence(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    first, lengths = types
    require(first.rank >= 2 and first.size > 0, "is defined on [batch, time, …]")
    _checked_indices(lengths)
    require(lengths.shape == first.shape[:1], "a length for every sequence is needed")
    return first


def _lengths(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (Wanted(first.shape[:1], "int64", "indices", first.shape[1] + 1),)


BY_POSITION = (
    _moving(
        "masked_fill",
        "a number where the mask holds, else x",
        _masked_fill,
        lambda x: x.is_float,
        _mask,
        value=Real((0.0, -1.0, 2.5)),
    ),
    _moving(
        "index_add",
        "x with slices added along an axis where indices say",
        _index_add,
        has_wide_axes,
        _added_slices,
        Rounding.RELATIVE,
        axis=AXIS,
    ),
    _moving(
        "scatter_mean",
        "the mean of what is there and all updates that name the place",
        _scatter_mean,
        lambda x: x.is_float and x.rank > 0,
        _scattered,
        Rounding.RELATIVE,
        axis=AXIS,
    ),
    _moving(
        "gather_nd",
        "x[indices[i]] for each row of indices",
        _gather_nd,
        has_axes,
        lambda x, a, rng: (_rows_of_indices(x, rng),),
    ),
    _moving(
        "scatter_nd_add",
        "x with updates added where rows of indices say",
        _scatter_nd_add,
        has_wide_axes,
        _scatter_nd_extras,
        Rounding.RELATIVE,
    ),
    _moving(
        "segment_sum",
        "sums of the rows of each segment; 0 where a segment has none",
        _segment_sum,
        has_wide_axes,
        _segments,
        Rounding.RELATIVE,
        segments=Whole(1, 5),
    ),
    _moving(
        "embedding_bag",
        "sum, mean or largest of the rows of a table that each bag names",
        _embedding_bag,
        lambda x: x.is_float and x.rank == 2 and x.size > 0,
        _bags,
        Rounding.RELATIVE,
        mode=Choice(("sum", "mean", "max")),
    ),
    _moving(
        "reverse_sequence",
        "the first elements of each sequence of [batch, time, …] turned around, as many as its length says",
        _reverse_sequence,
        lambda x: x.rank >= 2 and x.size > 0,
        _lengths,
    ),
)


def _diagonal(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, offset = types[0], attributes["offset"]
    require(first.rank >= 2, "is defined on matrices")
    rows, columns = first.shape[-2:]
    length = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
    require(length > 0, "there is no such diagonal")
    return TensorType((*first.shape[:-2], length), first.dtype)


def _diag_embed(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, offset = types[0], attributes["offset"]
    require(0 < first.rank < 5 and abs(offset) <= LARGEST_COUNT, "is defined on one to four axes")
    size = first.shape[-1] + abs(offset)
    return TensorType((*first.shape[:-1], size, size), first.dtype)


def _repeat(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, axis, times = types[0], attributes["axis"], attributes["times"]
    require_axis(axis, first.rank)
    require(0 < times <= LARGEST_COUNT, f"repeats from 1 to {LARGEST_COUNT} times")
    return TensorType((*first.shape[:axis], first.shape[axis] * times, *first.shape[axis + 1 :]), first.dtype)


def _rot90(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, times = types[0], attributes["times"]
    require(first.rank >= 2, "is defined on matrices")
    require(abs(times) <= LARGEST_COUNT, f"turns at most {LARGEST_COUNT} times")
    shape = first.shape if times % 2 == 0 else (first.shape[1], first.shape[0], *first.shape[2:])
    return TensorType(shape, first.dtype)


def _moved(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, source, target = types[0], attributes["source"], attributes["target"]
    require_axis(source, first.rank)
    require_axis(target, first.rank)
    kept = [size for axis, size in enumerate(first.shape) if axis != source]
    kept.insert(target, first.shape[source])
    return TensorType(tuple(kept), first.dtype)


def _roll_all(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(len(attributes["shifts"]) == types[0].rank, "give a shift for every axis")
    return types[0]


BY_PLACE = (
    _alone("diagonal", "x[…, i, i + offset]", _diagonal, lambda x: x.rank >= 2, offset=Whole(-2, 2)),
    _alone(
        "diag_embed",
        "matrices with x at a diagonal and 0 beside it",
        _diag_embed,
        lambda x: is_wide(x) and 0 < x.rank < 5,
        offset=Whole(-2, 2),
    ),
    _alone(
        "repeat_interleave", "each element so many times along an axis", _repeat, has_axes, axis=AXIS, times=Whole(1, 3)
    ),
    _alone(
        "rot90",
        "turned by so many quarters in the first two axes, from the first to the second",
        _rot90,
        lambda x: x.rank >= 2,
        times=Whole(-2, 3),
    ),
    _alone("movedim", "one axis moved to another place", _moved, has_axes, source=AXIS, target=AXIS),
    _alone(
        "roll_all",
        "moved on along every axis, what falls off comes in again",
        _roll_all,
        has_axes,
        shifts=Drawn(lambda x, rng: [int(shift) for shift in rng.integers(-2, 3, x.rank)]),
    ),
)
SELECTION = (*BY_POSITION, *BY_PLACE)
