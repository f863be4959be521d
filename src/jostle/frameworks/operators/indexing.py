"""Operators that move, repeat, cut or pad along axes, or go by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, has_axes, has_wide_axes
from jostle.frameworks.operators.operator import (
    AXES,
    AXIS,
    Choice,
    Drawn,
    Operator,
    Real,
    Rounding,
    Types,
    Wanted,
    Whole,
    count_of,
    is_wide,
    require,
    require_axes,
    require_axis,
)

PAD_MODES = ("constant", "reflect", "replicate", "circular")
REPEATS = (0, *(1, 2, 3) * 7)
TAKEN = (0, *(1, 2, 3, 4, 9) * 4)  # positions
WHOLES = Drawn(lambda first, rng: [0] * first.rank)


def _slice(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    starts, sizes, steps = attributes["starts"], attributes["sizes"], attributes["steps"]
    require(len(starts) == len(sizes) == len(steps) == types[0].rank, "give starts, sizes and steps for every axis")
    for full, start, size, step in zip(types[0].shape, starts, sizes, steps, strict=True):
        last = start + (size - 1) * step
        require(step != 0 and size >= 0, "a step is 0 or a size negative")
        require(size == 0 or (0 <= start < full and 0 <= last < full), "the slice leaves the tensor")
        require(size > 0 or 0 <= start <= full, "the slice starts outside the tensor")
    return TensorType(tuple(sizes), types[0].dtype)


def draw_slice(first: TensorType, rng: Random) -> dict[str, Any]:
    """Starts, sizes and steps that fit each other; at times backwards, or of nothing."""
    starts, sizes, steps = [], [], []
    for full in first.shape:
        step = int(rng.choice([1, 1, 1, 2, 3, -1, -2, -3]))
        start = int(rng.integers(full)) if full else 0
        room = 0 if not full else (full - 1 - start) // step if step > 0 else start // -step
        size = min(full, int(rng.integers(1, room + 2)) if rng.random() < 0.97 else 0)
        starts.append(start)
        sizes.append(size)
        steps.append(step)
    return {"starts": starts, "sizes": sizes, "steps": steps}


def _flip(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require_axes(attributes["axes"], types[0].rank)
    return types[0]


def _roll(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require_axis(attributes["axis"], types[0].rank)
    return types[0]


def _pad(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, mode = types[0], attributes["mode"]
    require(is_wide(first), f"is not defined on {first.dtype}")
    before, after = attributes["before"], attributes["after"]
    require(len(before) == len(after) == first.rank, "give padding for every axis")
    sizes = []
    for size, low, high in zip(first.shape, before, after, strict=True):
        require(mode == "constant" or min(low, high) >= 0, "only constant padding may be negative")
        require(min(0, low) + min(0, high) + size >= 0, "cuts more than there is")
        most = {"reflect": size - 1, "circular": size}.get(mode)
        require(most is None or max(low, high) <= most or max(low, high) == 0, f"{mode} padding is at most {most} here")
        require(mode == "constant" or size > 0 or max(low, high) == 0, "nothing to repeat")
        sizes.append(size + low + high)
    return TensorType(tuple(sizes), first.dtype)


def draw_pad(first: TensorType, rng: Random) -> dict[str, Any]:
    """On the last one or two axes, as of images, at times on all; negative only where nothing is repeated."""
    mode = str(rng.choice(PAD_MODES))
    before, after = [0] * first.rank, [0] * first.rank
    for axis in range(max(0, first.rank - 2) if rng.random() < 0.7 else 0, first.rank):
        size = first.shape[axis]
        most = {"reflect": min(8, size - 1), "circular": min(8, size)}.get(mode, 4)
        least = -min(3, size // 2) if mode == "constant" else 0
        before[axis] = int(rng.integers(least, max(most, 0) + 1))
        after[axis] = int(rng.integers(least, max(most, 0) + 1))
    return {"mode": mode, "before": before, "after": after, "value": float(rng.choice([0.0, 1.0, -1.0]))}


def _tile(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    repeats = attributes["repeats"]
    require(len(repeats) == types[0].rank and all(count >= 0 for count in repeats), "give a count for every axis")
    return TensorType(tuple(a * b for a, b in zip(types[0].shape, repeats, strict=True)), types[0].dtype)


MOVING = (
    Operator(
        "slice",
        "x[start], x[start + step], … of every axis, as many as sizes says; steps may be negative",
        _slice,
        has_axes,
        dict.fromkeys(("starts", "sizes", "steps"), WHOLES),
        together=draw_slice,
        rounding=Rounding.EXACT,
    ),
    Operator("flip", "turned around along axes", _flip, has_axes, {"axes": AXES}, rounding=Rounding.EXACT),
    Operator(
        "roll",
        "moved on by shift along an axis, what falls off comes in again",
        _roll,
        has_axes,
        {"shift": Whole(-9, 9), "axis": AXIS},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "pad",
        "with more (or, if negative, fewer) elements before and after; modes as numpy's constant, reflect, "
        "edge (replicate) and wrap (circular)",
        _pad,
        lambda x: x.rank > 0 and is_wide(x),
        {"mode": Choice(PAD_MODES), "before": WHOLES, "after": WHOLES, "value": Real((0.0, 1.0, -1.0))},
        together=draw_pad,
        rounding=Rounding.EXACT,
    ),
    Operator(
        "tile",
        "repeated whole along every axis",
        _tile,
        has_axes,
        {"repeats": Drawn(lambda x, rng: [int(count) for count in rng.choice(REPEATS, x.rank)])},
        rounding=Rounding.EXACT,
    ),
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
    shape[axis] = int(rng.choice(TAKEN))
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
    return (Wanted((int(rng.choice(TAKEN)),), "int64", "indices", first.shape[attributes["axis"]]),)


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
