"""Convolutions, and their transpose."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.frameworks.graph import Attributes, TensorType
from jostle.frameworks.operators.kinds import Random, any_divisor, floats, is_image, weights
from jostle.frameworks.operators.operator import Drawn, Operator, Types, Wanted, per_spatial, require


def _windows(size: int, kernel: int, stride: int, low: int, high: int, dilation: int) -> int:
    reach = (kernel - 1) * dilation + 1
    require(size + low + high >= reach, "the window is larger than the image")
    return (size + low + high - reach) // stride + 1


def _conv(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 3)
    x, weight, bias = types
    axes, groups = x.rank - 2, attributes["groups"]
    require(is_image(x) and weight.rank == x.rank and weight.size > 0, f"{weight} does not fit {x}")
    require(
        groups > 0 and x.shape[1] == weight.shape[1] * groups and weight.shape[0] % groups == 0, "groups do not divide"
    )
    require(bias.shape == weight.shape[:1], f"{bias} does not fit {weight}")
    names = ("strides", "before", "after", "dilations")
    require(all(len(attributes[name]) == axes for name in names), "give strides, padding and dilations per axis")
    require(min(*attributes["strides"], *attributes["dilations"], 1) > 0, "strides and dilations are at least 1")
    require(min(*attributes["before"], *attributes["after"], 0) == 0, "padding is not negative")
    sizes = zip(x.shape[2:], weight.shape[2:], *(attributes[name] for name in names), strict=True)
    return TensorType(
        (x.shape[0], weight.shape[0], *(_windows(s, k, st, lo, hi, d) for s, k, st, lo, hi, d in sizes)), dtype
    )


def _kernel(first: TensorType, rng: Random) -> tuple[int, ...]:
    return tuple(int(rng.integers(1, min(4, size + 1) + 1)) for size in first.shape[2:])


def _conv_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    groups = attributes["groups"]
    out = groups * int(rng.integers(1, 4))
    return weights((out, first.shape[1] // groups, *_kernel(first, rng)), first), weights((out,), first)


def _conv_transpose(types: Types, attributes: Attributes) -> TensorType:
    dtype = floats(types, 3)
    x, weight, bias = types
    axes, groups = x.rank - 2, attributes["groups"]
    require(is_image(x) and weight.rank == x.rank and weight.size > 0 and groups > 0, f"{weight} does not fit {x}")
    require(x.shape[1] == weight.shape[0] and weight.shape[0] % groups == 0, "groups do not divide")
    require(bias.shape == (weight.shape[1] * groups,), f"{bias} does not fit {weight}")
    names = ("strides", "padding", "output_padding", "dilations")
    require(all(len(attributes[name]) == axes for name in names), "give strides, padding and dilations per axis")
    sizes = []
    for size, kernel, stride, pad, more, dilation in zip(
        x.shape[2:], weight.shape[2:], *(attributes[name] for name in names), strict=True
    ):
        require(stride > 0 and dilation > 0 and pad >= 0, "strides and dilations are at least 1")
        require(0 <= more < max(stride, dilation), "output padding is smaller than stride or dilation")
        sizes.append((size - 1) * stride - 2 * pad + dilation * (kernel - 1) + more + 1)
    require(min(sizes) > 0, "nothing is left")
    return TensorType((x.shape[0], bias.shape[0], *sizes), dtype)


def _conv_transpose_extras(first: TensorType, attributes: Attributes, rng: Random) -> Sequence[Wanted]:
    each = int(rng.integers(1, 4))
    shape = (first.shape[1], each, *_kernel(first, rng))
    return weights(shape, first), weights((each * attributes["groups"],), first)


CONV = {
    "strides": per_spatial(1, 3),
    "before": per_spatial(0, 3),
    "after": per_spatial(0, 3),
    "dilations": per_spatial(1, 3),
    "groups": Drawn(any_divisor),
}

CONV_TRANSPOSE = {
    "strides": per_spatial(1, 3),
    "padding": per_spatial(0, 2),
    "output_padding": per_spatial(0, 2),
    "dilations": per_spatial(1, 3),
    "groups": Drawn(any_divisor),
}

PADDING_UNSPECIFIED = (
    "No documentation of a convolution says whether padding is multiplied or left out, so whether 0 ∞ counts"
)
CONVOLUTIONS = (
    Operator(
        "conv",
        "correlation of x [batch, channels, …] with w [out, channels / groups, …], plus b [out]",
        _conv,
        is_image,
        CONV,
        _conv_extras,
        unspecified=PADDING_UNSPECIFIED,
    ),
    Operator(
        "conv_transpose",
        "the gradient of conv as torch defines its transposed convolution; w [channels, out / groups, …], b [out]",
        _conv_transpose,
        is_image,
        CONV_TRANSPOSE,
        _conv_transpose_extras,
        unspecified=PADDING_UNSPECIFIED,
    ),
)
