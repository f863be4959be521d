"""Kinds of tensors that several operators take or need."""

from __future__ import annotations

import numpy as np

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.operator import (
    Infer,
    Types,
    Wanted,
    count_of,
    is_wide,
    require,
    require_axis,
    same_dtype,
)

Random = np.random.Generator


def is_image(first: TensorType) -> bool:
    """Batch, channels and one to three axes more, none of them empty."""
    return first.is_float and 3 <= first.rank <= 5 and first.size > 0


def is_channelled(first: TensorType) -> bool:
    """Batch, channels and up to three axes more, none of them empty."""
    return first.is_float and 2 <= first.rank <= 5 and first.size > 0


def is_rows(first: TensorType) -> bool:
    return first.is_float and first.rank >= 1


def is_filled_rows(first: TensorType) -> bool:
    return is_rows(first) and first.size > 0


def has_axes(first: TensorType) -> bool:
    return first.rank > 0


def has_wide_axes(first: TensorType) -> bool:
    return first.rank > 0 and is_wide(first)


def floats(types: Types, count: int) -> str:
    """The dtype of this many inputs that are floats of one kind."""
    count_of(types, count)
    require(types[0].is_float, f"is not defined on {types[0].dtype}")
    return same_dtype(types)


def along(types: Types, attributes: Attributes) -> TensorType:
    """What computes floats of the same shape along an axis."""
    dtype = floats(types, 1)
    require_axis(attributes["axis"], types[0].rank)
    return TensorType(types[0].shape, dtype)


def per_channel(count: int) -> Infer:
    """What takes so many numbers for every channel and keeps the shape."""

    def infer(types: Types, attributes: Attributes) -> TensorType:
        dtype = floats(types, 1 + count)
        require(is_channelled(types[0]), f"is not defined on {types[0]}")
        require(all(one.shape == types[0].shape[1:2] for one in types[1:]), "one number per channel is needed")
        return TensorType(types[0].shape, dtype)

    return infer


def weights(shape: tuple[int, ...], first: TensorType) -> Wanted:
    return Wanted(shape, first.dtype, "weights")


def any_divisor(first: TensorType, rng: Random) -> int:
    """A number of groups that divides the channels."""
    divisors = [count for count in range(1, first.shape[1] + 1) if first.shape[1] % count == 0]
    return int(rng.choice(divisors)) if rng.random() < 0.5 else 1
