"""What windows see, as a tensor of its own, and what is chosen of them: where the largest lie, other divisors."""

from __future__ import annotations

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import floats, has_axes, is_image
from jostle.frameworks.operators.operator import (
    AXIS,
    FLAG,
    Operator,
    Rounding,
    Types,
    Whole,
    count_of,
    per_spatial,
    require,
    require_axis,
)
from jostle.frameworks.operators.pooling import WINDOW, pooled

LARGEST_WINDOW = 64
PATCHES_UNSPECIFIED = (
    "jax.lax.conv_general_dilated_patches is documented as a convolution, which multiplies what it does not take by 0"
)


def _sliding(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    first, axis, size, step = types[0], attributes["axis"], attributes["size"], attributes["step"]
    require_axis(axis, first.rank)
    require(0 < size <= first.shape[axis] and 0 < step <= LARGEST_WINDOW, "the window is larger than the axis")
    count = (first.shape[axis] - size) // step + 1
    return TensorType((*first.shape[:axis], count, *first.shape[axis + 1 :], size), first.dtype)


def _counts(x: TensorType, attributes: Attributes, axes: int) -> list[int]:
    ones = [1] * axes
    kernel, strides = attributes["kernel"], attributes["strides"]
    padding, dilations = attributes.get("padding", [0] * axes), attributes.get("dilations", ones)
    require(len(kernel) == len(strides) == len(padding) == len(dilations) == axes, "give all numbers per axis")
    require(min(*kernel, *strides, *dilations, LARGEST_WINDOW) > 0 and min(padding) >= 0, "sizes are at least 1")
    require(max(*kernel, *padding) <= LARGEST_WINDOW, f"windows are at most {LARGEST_WINDOW} wide")
    sizes = zip(x.shape[2:], kernel, strides, padding, dilations, strict=True)
    return [pooled(size, one, stride, pad, dilation, False) for size, one, stride, pad, dilation in sizes]


def _is_picture(first: TensorType) -> bool:
    return is_image(first) and first.rank == 4


def _im2col(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 1)
    require(_is_picture(types[0]), "is defined on images of two axes")
    rows, columns = _counts(types[0], attributes, 2)
    batch, channels = types[0].shape[:2]
    height, width = attributes["kernel"]
    return TensorType((batch, channels * height * width, rows * columns), dtype)


def _pooled(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 1)
    x = types[0]
    require(is_image(x), f"is not defined on {x}")
    counts = _counts(x, attributes, x.rank - 2)
    sizes = zip(attributes["kernel"], attributes.get("padding", [0] * len(counts)), strict=True)
    require(all(2 * pad <= size for size, pad in sizes), "padding is at most half the window")
    return TensorType((*x.shape[:2], *counts), dtype)


def _divided(types: Types, attributes: Attributes) -> TensorType:
    require(0 < attributes["divisor"] <= LARGEST_WINDOW, f"divides by 1 to {LARGEST_WINDOW}")
    require(types[0].rank > 3, "is defined on images of two or three axes")
    return _pooled(types, attributes)


def _positions(types: Types, attributes: Attributes) -> TensorType:
    return TensorType(_pooled(types, attributes).shape, "int64")


def _unpooled(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 1)
    x = types[0]
    require(is_image(x) and len(attributes["kernel"]) == x.rank - 2, f"is not defined on {x}")
    require(min(attributes["kernel"]) > 0 and max(attributes["kernel"]) <= LARGEST_WINDOW, "sizes are at least 1")
    sizes = [size // one * one for size, one in zip(x.shape[2:], attributes["kernel"], strict=True)]
    require(min(sizes) > 0, "the window is larger than the image")
    return TensorType((*x.shape[:2], *sizes), dtype)


WINDOWS = (
    Operator(
        "sliding_window",
        "what each window along an axis sees, as a new last axis",
        _sliding,
        has_axes,
        {"axis": AXIS, "size": Whole(1, 3), "step": Whole(1, 2)},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "im2col",
        "what each window of an image sees, channel by channel, as [batch, channels taps, windows]; padding is 0",
        _im2col,
        _is_picture,
        {**WINDOW, "padding": per_spatial(0, 1), "dilations": per_spatial(1, 2)},
        rounding=Rounding.EXACT,
        unspecified=PATCHES_UNSPECIFIED,
    ),
    Operator(
        "sum_pool",
        "sum of each window by a divisor",
        _divided,
        lambda x: is_image(x) and x.rank > 3,
        {**WINDOW, "padding": per_spatial(0, 1), "divisor": Whole(1, 3)},
    ),
    Operator(
        "max_pool_indices",
        "where in its channel's image the largest of each window lies, counted by rows or by columns, as int64; "
        "undefined with ties or NaN",
        _positions,
        is_image,
        {**WINDOW, "padding": per_spatial(0, 1), "by_columns": FLAG},
        differentiable=False,
        discontinuous=True,
        rounding=Rounding.EXACT,
    ),
    Operator(
        "max_unpool",
        "the largest of each window where it lies, 0 elsewhere; windows lie side by side; undefined with ties or NaN",
        _unpooled,
        is_image,
        {"kernel": per_spatial(1, 3)},
        discontinuous=True,
        rounding=Rounding.EXACT,
    ),
)
