"""Operators that move elements and change none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.operator import (
    AXES,
    AXIS,
    FLAG,
    Choice,
    Drawn,
    Infer,
    Operator,
    Real,
    Types,
    Wanted,
    Whole,
    anything,
    broadcast,
    count_of,
    is_number,
    is_wide,
    require,
    require_axes,
    require_axis,
    same_dtype,
)

Random = np.random.Generator


def _factors(first: TensorType, rng: Random) -> list[int]:
    """A shape of as many elements: the axes in another order, joined or split."""
    shape = list(first.shape)
    if len(shape) > 1 and rng.random() < 0.5:
        place = int(rng.integers(len(shape) - 1))
        shape[place : place + 2] = [shape[place] * shape[place + 1]]
    for place, size in enumerate(shape):
        divisors = [part for part in range(2, size) if size % part == 0]
        if divisors and len(shape) < 5 and rng.random() < 0.5:
            part = int(rng.choice(divisors))
            shape[place : place + 1] = [part, size // part]
            break
    return [shape[place] for place in rng.permutation(len(shape))] if rng.random() < 0.3 else shape


def _reshape(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    shape = tuple(attributes["shape"])
    require(all(size >= 0 for size in shape), "sizes are not negative")
    require(TensorType(shape, "bool").size == types[0].size, f"{types[0]} has not as many elements as {list(shape)}")
    return TensorType(shape, types[0].dtype)


def _transpose(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    order = attributes["permutation"]
    require(sorted(order) == list(range(types[0].rank)), f"{order} is no order of {types[0].rank} axes")
    return TensorType(tuple(types[0].shape[axis] for axis in order), types[0].dtype)


def _any_order(first: TensorType, rng: Random) -> list[int]:
    return [int(axis) for axis in rng.permutation(first.rank)]


def _squeeze(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require_axes(attributes["axes"], types[0].rank)
    require(all(types[0].shape[axis] == 1 for axis in attributes["axes"]), "an axis is not of size 1")
    kept = [size for axis, size in enumerate(types[0].shape) if axis not in attributes["axes"]]
    return TensorType(tuple(kept), types[0].dtype)


def _axes_of_one(first: TensorType, rng: Random) -> list[int]:
    ones = [axis for axis, size in enumerate(first.shape) if size == 1]
    require(bool(ones), "no axis is of size 1")
    return sorted(int(axis) for axis in rng.permutation(ones)[: int(rng.integers(1, len(ones) + 1))])


def _unsqueeze(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    axes = attributes["axes"]
    rank = types[0].rank + len(axes)
    require_axes(axes, rank)
    sizes = iter(types[0].shape)
    return TensorType(tuple(1 if axis in axes else next(sizes) for axis in range(rank)), types[0].dtype)


def _new_axes(first: TensorType, rng: Random) -> list[int]:
    require(first.rank < 5, "there are five axes already")
    return [int(rng.integers(first.rank + 1))]


def _expand(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    shape = tuple(attributes["shape"])
    require(broadcast(types[0].shape, shape) == shape, f"{types[0]} cannot be broadcast to {list(shape)}")
    return TensorType(shape, types[0].dtype)


def _larger_shape(first: TensorType, rng: Random) -> list[int]:
    shape = [int(rng.integers(1, 4)) if size == 1 else size for size in first.shape]
    return [int(rng.integers(1, 3)), *shape] if first.rank < 4 and rng.random() < 0.4 else shape


def _concat(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2, 3, 4)
    axis, shape = attributes["axis"], list(types[0].shape)
    require_axis(axis, len(shape))
    for other in types[1:]:
        require(other.rank == len(shape), "ranks differ")
        require(
            all(a == b for at, (a, b) in enumerate(zip(shape, other.shape, strict=True)) if at != axis), "sizes differ"
        )
    shape[axis] = sum(one.shape[axis] for one in types)
    return TensorType(tuple(shape), same_dtype(types))


def _concat_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    shape = list(first.shape)
    shape[attributes["axis"]] = int(rng.integers(0, 4))
    return (Wanted(tuple(shape), first.dtype, "values"),)


def _stack(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2, 3, 4)
    require(len({one.shape for one in types}) == 1, "shapes differ")
    shape = list(types[0].shape)
    require(isinstance(attributes["axis"], int) and 0 <= attributes["axis"] <= len(shape), "the axis does not exist")
    return TensorType((*shape[: attributes["axis"]], len(types), *shape[attributes["axis"] :]), same_dtype(types))


def _same_again(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (Wanted(first.shape, first.dtype, "values"),)


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
        step = int(rng.choice([1, 1, 1, 2, -1, -2]))
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


PAD_MODES = ("constant", "reflect", "replicate", "circular")


def _pad(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, mode = types[0], attributes["mode"]
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
    """On the last one or two axes, as image libraries have it; negative only where nothing is repeated."""
    mode = str(rng.choice(PAD_MODES))
    before, after = [0] * first.rank, [0] * first.rank
    for axis in range(max(0, first.rank - 2), first.rank):
        size = first.shape[axis]
        most = {"reflect": min(2, size - 1), "circular": min(2, size)}.get(mode, 2)
        least = -min(1, size // 2) if mode == "constant" else 0
        before[axis] = int(rng.integers(least, max(most, 0) + 1))
        after[axis] = int(rng.integers(least, max(most, 0) + 1))
    return {"mode": mode, "before": before, "after": after, "value": float(rng.choice([0.0, 1.0, -1.0]))}


def _tile(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    repeats = attributes["repeats"]
    require(len(repeats) == types[0].rank and all(count >= 0 for count in repeats), "give a count for every axis")
    return TensorType(tuple(a * b for a, b in zip(types[0].shape, repeats, strict=True)), types[0].dtype)


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


def _matrix(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(types[0].rank >= 2, "is defined on matrices")
    return types[0]


def _depth_to_space(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    block = attributes["block"]
    require(types[0].rank == 4 and block > 0 and types[0].shape[1] % block**2 == 0, "channels do not divide")
    batch, channels, height, width = types[0].shape
    return TensorType((batch, channels // block**2, height * block, width * block), types[0].dtype)


def _space_to_depth(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    block = attributes["block"]
    require(types[0].rank == 4 and block > 0, "is defined on images")
    batch, channels, height, width = types[0].shape
    require(height % block == 0 and width % block == 0, "height or width do not divide")
    return TensorType((batch, channels * block**2, height // block, width // block), types[0].dtype)


def _sort(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    require(is_wide(types[0]), f"is not defined on {types[0].dtype}")
    require_axis(attributes["axis"], types[0].rank)
    return types[0]


def _top(dtype: str | None) -> Infer:
    def infer(types: Types, attributes: Attributes) -> TensorType:
        first = _sort(types, attributes)
        axis, count = attributes["axis"], attributes["k"]
        require(0 < count <= first.shape[axis], "k is larger than the axis")
        return TensorType((*first.shape[:axis], count, *first.shape[axis + 1 :]), dtype or first.dtype)

    return infer


def _ranked(first: TensorType) -> bool:
    return first.rank > 0 and is_wide(first)


def _has_axes(first: TensorType) -> bool:
    return first.rank > 0


WHOLES = Drawn(lambda first, rng: [0] * first.rank)
BLOCK, DIAGONAL = Whole(2, 2), Whole(-2, 2)
SHAPING = (
    Operator("reshape", "the same elements in another shape", _reshape, anything, {"shape": Drawn(_factors)}),
    Operator("transpose", "axes in another order", _transpose, _has_axes, {"permutation": Drawn(_any_order)}),
    Operator(
        "squeeze", "without these axes of size 1", _squeeze, lambda x: 1 in x.shape, {"axes": Drawn(_axes_of_one)}
    ),
    Operator(
        "unsqueeze",
        "with new axes of size 1, at these places of the result",
        _unsqueeze,
        anything,
        {"axes": Drawn(_new_axes)},
    ),
    Operator("expand", "broadcast to a shape", _expand, anything, {"shape": Drawn(_larger_shape)}),
    Operator("concat", "one after another along an axis", _concat, _has_axes, {"axis": AXIS}, _concat_extras),
    Operator(
        "stack",
        "one after another along a new axis",
        _stack,
        lambda x: x.rank < 5,
        {"axis": Drawn(lambda x, rng: int(rng.integers(x.rank + 1)))},
        _same_again,
    ),
    Operator(
        "slice",
        "x[start], x[start + step], … of every axis, as many as sizes says; steps may be negative",
        _slice,
        _has_axes,
        dict.fromkeys(("starts", "sizes", "steps"), WHOLES),
        together=draw_slice,
    ),
    Operator("flip", "turned around along axes", _flip, _has_axes, {"axes": AXES}),
    Operator(
        "roll",
        "moved on by shift along an axis, what falls off comes in again",
        _roll,
        _has_axes,
        {"shift": Whole(-3, 3), "axis": AXIS},
    ),
    Operator(
        "pad",
        "with more (or, if negative, fewer) elements before and after; modes as numpy's constant, reflect, "
        "edge (replicate) and wrap (circular)",
        _pad,
        lambda x: x.rank > 0 and is_wide(x),
        {"mode": Choice(PAD_MODES), "before": WHOLES, "after": WHOLES, "value": Real((0.0, 1.0, -1.0))},
        together=draw_pad,
    ),
    Operator(
        "tile",
        "repeated whole along every axis",
        _tile,
        _has_axes,
        {"repeats": Drawn(lambda x, rng: [int(count) for count in rng.integers(1, 3, x.rank)])},
    ),
    Operator(
        "gather",
        "x[…, indices[…], …] along an axis, as numpy's take_along_axis",
        _gather,
        _has_axes,
        {"axis": AXIS},
        _gather_extras,
    ),
    Operator(
        "take",
        "the slices of an axis at these positions, as numpy's take",
        _take,
        _has_axes,
        {"axis": AXIS},
        _take_extras,
    ),
    Operator(
        "scatter",
        "x with updates put in along an axis where indices say, combined with what is there: add, mul, max, min",
        _scatter,
        _ranked,
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
    ),
    Operator(
        "tril",
        "0 above the diagonal of the last two axes",
        _matrix,
        lambda x: x.rank >= 2 and is_number(x),
        {"diagonal": DIAGONAL},
    ),
    Operator(
        "triu",
        "0 below the diagonal of the last two axes",
        _matrix,
        lambda x: x.rank >= 2 and is_number(x),
        {"diagonal": DIAGONAL},
    ),
    Operator(
        "depth_to_space",
        "channels to places, in the order column-row-depth (pixel shuffle) or depth-column-row of ONNX",
        _depth_to_space,
        lambda x: x.rank == 4,
        {"block": BLOCK, "mode": Choice(("crd", "dcr"))},
    ),
    Operator(
        "space_to_depth",
        "places to channels, block offsets slowest as in ONNX",
        _space_to_depth,
        lambda x: x.rank == 4,
        {"block": BLOCK},
    ),
    Operator("sort", "in order along an axis; undefined with NaN", _sort, _ranked, {"axis": AXIS, "descending": FLAG}),
    Operator(
        "topk_values",
        "the k largest (or smallest) in order; undefined with NaN",
        _top(None),
        _ranked,
        {"k": Whole(1, 3), "axis": AXIS, "largest": FLAG},
    ),
    Operator(
        "topk_indices",
        "where they are, as int64; undefined with NaN or ties",
        _top("int64"),
        _ranked,
        {"k": Whole(1, 3), "axis": AXIS, "largest": FLAG},
        differentiable=False,
        discontinuous=True,
    ),
)
