"""Operators that reshape, transpose or join tensors, or go by rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, has_axes
from jostle.frameworks.operators.operator import (
    AXIS,
    Choice,
    Drawn,
    Operator,
    Rounding,
    Types,
    Wanted,
    Whole,
    anything,
    broadcast,
    count_of,
    is_number,
    require,
    require_axes,
    require_axis,
    same_dtype,
)


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
    rank = int(rng.integers(first.rank + 1, min(first.rank + 2, 5) + 1))
    return sorted(int(axis) for axis in rng.permutation(rank)[: rank - first.rank])


def _expand(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    shape = tuple(attributes["shape"])
    require(broadcast(types[0].shape, shape) == shape, f"{types[0]} cannot be broadcast to {list(shape)}")
    return TensorType(shape, types[0].dtype)


def _larger_shape(first: TensorType, rng: Random) -> list[int]:
    sizes = (0, *(1, 2, 3) * 6)
    shape = [int(rng.choice(sizes)) if size == 1 else size for size in first.shape]
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
    axis = attributes["axis"]
    sizes = rng.integers(0, 4, int(rng.integers(1, 4)))
    shapes = [(*first.shape[:axis], int(size), *first.shape[axis + 1 :]) for size in sizes]
    return tuple(Wanted(shape, first.dtype, "values") for shape in shapes)


def _stack(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2, 3, 4)
    require(len({one.shape for one in types}) == 1, "shapes differ")
    shape = list(types[0].shape)
    require(isinstance(attributes["axis"], int) and 0 <= attributes["axis"] <= len(shape), "the axis does not exist")
    return TensorType((*shape[: attributes["axis"]], len(types), *shape[attributes["axis"] :]), same_dtype(types))


def _same_again(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    return (Wanted(first.shape, first.dtype, "values"),) * int(rng.integers(1, 4))


RESHAPING = (
    Operator(
        "reshape",
        "the same elements in another shape",
        _reshape,
        anything,
        {"shape": Drawn(_factors)},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "transpose",
        "axes in another order",
        _transpose,
        has_axes,
        {"permutation": Drawn(_any_order)},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "squeeze",
        "without these axes of size 1",
        _squeeze,
        lambda x: 1 in x.shape,
        {"axes": Drawn(_axes_of_one)},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "unsqueeze",
        "with new axes of size 1, at these places of the result",
        _unsqueeze,
        anything,
        {"axes": Drawn(_new_axes)},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "expand", "broadcast to a shape", _expand, anything, {"shape": Drawn(_larger_shape)}, rounding=Rounding.EXACT
    ),
    Operator(
        "concat",
        "one after another along an axis",
        _concat,
        has_axes,
        {"axis": AXIS},
        _concat_extras,
        rounding=Rounding.EXACT,
    ),
    Operator(
        "stack",
        "one after another along a new axis",
        _stack,
        lambda x: x.rank < 5,
        {"axis": Drawn(lambda x, rng: int(rng.integers(x.rank + 1)))},
        _same_again,
        rounding=Rounding.EXACT,
    ),
)


BLOCK, DIAGONAL = Whole(2, 3), Whole(-6, 6)


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


GRIDS = (
    Operator(
        "tril",
        "0 above the diagonal of the last two axes",
        _matrix,
        lambda x: x.rank >= 2 and is_number(x),
        {"diagonal": DIAGONAL},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "triu",
        "0 below the diagonal of the last two axes",
        _matrix,
        lambda x: x.rank >= 2 and is_number(x),
        {"diagonal": DIAGONAL},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "depth_to_space",
        "channels to places, in the order column-row-depth (pixel shuffle) or depth-column-row of ONNX",
        _depth_to_space,
        lambda x: x.rank == 4,
        {"block": BLOCK, "mode": Choice(("crd", "dcr"))},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "space_to_depth",
        "places to channels, block offsets slowest as in ONNX",
        _space_to_depth,
        lambda x: x.rank == 4,
        {"block": BLOCK},
        rounding=Rounding.EXACT,
    ),
)
