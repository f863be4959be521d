"""Formulas of convolutions, and what any window that slides over an image sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.indexing import at_places
from jostle.frameworks.reference.numbers import Formula, along

Places = Sequence[Tensor]  # for each axis after batch and channels, [windows, taps]: what each tap of each window sees
OUTSIDE = -1  # a place that is none


def seen(x: Tensor, places: Places, outside: float) -> Tensor:
    """What the windows see, as [batch, channels, windows, taps]."""
    for axis, of_axis in enumerate(places):
        x = at_places(x, 2 + axis, of_axis.flatten(), outside)
    return _by_window(x, places)


def _by_window(x: Tensor, places: Places) -> Tensor:
    pairs = [size for of_axis in places for size in of_axis.shape]
    axes = range(2, 2 + len(pairs))
    split = x.reshape(*x.shape[:2], *pairs).permute(0, 1, *axes[::2], *axes[1::2])
    return split.reshape(*x.shape[:2], prod(pairs[::2]), prod(pairs[1::2]))


def regular(count: int, taps: int, stride: int, before: int, dilation: int) -> Tensor:
    return torch.arange(count).unsqueeze(1) * stride - before + torch.arange(taps) * dilation


def per_axis(call: Call, taps: Sequence[int], *names: str) -> Places:
    """Regular windows, of these strides, padding and dilations."""
    axes = len(taps)
    given = [call.attributes.get(name, [fallback] * axes) for name, fallback in zip(names, (1, 0, 1), strict=True)]
    return [regular(*numbers) for numbers in zip(call.type.shape[2:], taps, *given, strict=True)]


def conv(call: Call, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    groups = call.attributes["groups"]
    places = per_axis(call, weight.shape[2:], "strides", "before", "dilations")
    images = seen(x, places, 0.0)
    images = images.reshape(x.shape[0], groups, -1, *images.shape[2:])
    kernels = weight.reshape(groups, weight.shape[0] // groups, weight.shape[1], -1)
    out = torch.einsum("bgcwt,goct->bgow", images, kernels).reshape(call.type.shape)
    return out + along(bias, 1, x.dim())


def conv_transpose(call: Call, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    groups = call.attributes["groups"]
    names = ("strides", "padding", "dilations")
    numbers = zip(call.type.shape[2:], weight.shape[2:], *(call.attributes[name] for name in names), strict=True)
    images = seen(x, [_that_reach(*one) for one in numbers], 0.0)
    images = images.reshape(x.shape[0], groups, -1, *images.shape[2:])
    kernels = weight.reshape(groups, weight.shape[0] // groups, weight.shape[1], -1)
    out = torch.einsum("bgcwt,gcot->bgow", images, kernels).reshape(call.type.shape)
    return out + along(bias, 1, x.dim())


def _that_reach(count: int, taps: int, stride: int, padding: int, dilation: int) -> Tensor:
    """For each place of the result and each tap, the place of x that is spread to it: place * stride + tap."""
    reached = torch.arange(count).unsqueeze(1) + padding - torch.arange(taps) * dilation
    return torch.where(reached % stride == 0, torch.div(reached, stride, rounding_mode="floor"), OUTSIDE)


CONVOLUTIONS: Mapping[str, Formula] = {
    "conv": conv,
    "conv_transpose": conv_transpose,
}
