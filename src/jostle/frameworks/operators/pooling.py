"""One number for each window of an image."""

from __future__ import annotations

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.convolutions import PADDING_UNSPECIFIED
from jostle.frameworks.operators.kinds import Random, floats, is_image
from jostle.frameworks.operators.operator import FLAG, Choice, Drawn, Operator, Rounding, Types, per_spatial, require

WINDOW = {"kernel": per_spatial(1, 4), "strides": per_spatial(1, 4)}


def _any_size(first: TensorType, rng: Random) -> list[int]:
    """One for each axis after batch and channels: smaller and larger ones, and often 1 everywhere."""
    largest = int(rng.choice([1, 3, 9]))
    return [int(size) for size in rng.integers(1, largest + 1, max(first.rank - 2, 0))]


SIZE = {"size": Drawn(_any_size)}


def pooled(size: int, kernel: int, stride: int, pad: int, dilation: int, ceil: bool) -> int:
    """How many windows there are; rounding up, none may start beyond the image and the padding before it."""
    reach = (kernel - 1) * dilation + 1
    require(size + 2 * pad >= reach, "the window is larger than the image")
    room = size + 2 * pad - reach
    count = (-(-room // stride) if ceil else room // stride) + 1
    return count - 1 if ceil and (count - 1) * stride >= size + pad else count


def _pool(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 1)
    x, axes = types[0], types[0].rank - 2
    require(is_image(x), f"is not defined on {x}")
    ones = [1] * axes
    padding, dilations = attributes.get("padding", [0] * axes), attributes.get("dilations", ones)
    kernel, strides = attributes["kernel"], attributes["strides"]
    require(len(kernel) == len(strides) == len(padding) == len(dilations) == axes, "give all numbers per axis")
    require(min(*kernel, *strides, *dilations) > 0, "sizes are at least 1")
    require(
        all(0 <= 2 * pad <= size for pad, size in zip(padding, kernel, strict=True)),
        "padding is at most half the window",
    )
    sizes = zip(x.shape[2:], kernel, strides, padding, dilations, strict=True)
    ceil = bool(attributes.get("ceil", False))
    return TensorType((*x.shape[:2], *(pooled(s, k, st, p, d, ceil) for s, k, st, p, d in sizes)), dtype)


def of_given_size(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 1)
    require(is_image(types[0]) and len(attributes["size"]) == types[0].rank - 2, "give a size per axis")
    require(min(attributes["size"]) > 0, "sizes are at least 1")
    return TensorType((*types[0].shape[:2], *attributes["size"]), dtype)


POOLING = (
    Operator(
        "max_pool",
        "largest of each window; padding never wins; with ceil, as torch, windows may pass the end but not start there",
        _pool,
        is_image,
        {**WINDOW, "padding": per_spatial(0, 2), "dilations": per_spatial(1, 3), "ceil": FLAG},
        rounding=Rounding.EXACT,
    ),
    Operator(
        "avg_pool",
        "mean of each window; include_pad: padding counts as zeros, but not what ceil adds beyond it",
        _pool,
        is_image,
        {**WINDOW, "padding": per_spatial(0, 2), "ceil": FLAG, "include_pad": FLAG},
        unspecified=PADDING_UNSPECIFIED,
    ),
    Operator("lp_pool", "(Σ |x|ᵖ)^(1/p) of each window", _pool, is_image, {**WINDOW, "p": Choice((1, 2, 3))}),
    Operator("adaptive_avg_pool", "mean of windows from ⌊i n / m⌋ to ⌈(i + 1) n / m⌉", of_given_size, is_image, SIZE),
    Operator(
        "adaptive_max_pool", "largest of the same windows", of_given_size, is_image, SIZE, rounding=Rounding.EXACT
    ),
)
