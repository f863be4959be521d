"""Formulas of the operators that slide a window: convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.numbers import Formula, root
from jostle.frameworks.reference.reductions import along
from jostle.frameworks.reference.shaping import at_places
from jostle.frameworks.reference.undefined import undefined_where

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


def _per_axis(call: Call, taps: Sequence[int], *names: str) -> Places:
    """Regular windows, of these strides, padding and dilations."""
    axes = len(taps)
    given = [call.attributes.get(name, [fallback] * axes) for name, fallback in zip(names, (1, 0, 1), strict=True)]
    return [regular(*numbers) for numbers in zip(call.type.shape[2:], taps, *given, strict=True)]


def conv(call: Call, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    groups = call.attributes["groups"]
    places = _per_axis(call, weight.shape[2:], "strides", "before", "dilations")
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


def _pool_places(call: Call) -> Places:
    return _per_axis(call, call.attributes["kernel"], "strides", "padding", "dilations")


def counted(places: Places, sizes: Sequence[int], beyond: Sequence[int]) -> Tensor:
    """How many taps of each window lie in the image or at most so far beyond its edges."""
    counts = torch.ones(1, 1, dtype=torch.int64)
    for of_axis, size, far in zip(places, sizes, beyond, strict=True):
        inside = ((of_axis >= -far) & (of_axis < size + far)).sum(1)
        counts = (counts.reshape(-1, 1) * inside).reshape(-1, 1)
    return counts.flatten()


def max_pool(call: Call, x: Tensor) -> Tensor:
    return _largest(call, x, _pool_places(call))


def _largest(call: Call, x: Tensor, places: Places) -> Tensor:
    nothing = [0] * len(places)
    undefined_where(counted(places, x.shape[2:], nothing) == 0, "the largest of a window in which there is nothing")
    return seen(x, places, -torch.inf).amax(-1).reshape(call.type.shape)


def avg_pool(call: Call, x: Tensor) -> Tensor:
    places, padding = _pool_places(call), call.attributes["padding"]
    return _mean(call, x, places, padding if call.attributes["include_pad"] else [0] * len(padding))


def _mean(call: Call, x: Tensor, places: Places, beyond: Sequence[int]) -> Tensor:
    return (seen(x, places, 0.0).sum(-1) / counted(places, x.shape[2:], beyond)).reshape(call.type.shape)


def lp_pool(call: Call, x: Tensor) -> Tensor:
    power = call.attributes["p"]
    sizes = seen(x, _pool_places(call), 0.0).abs()
    return _root_of((sizes**power).sum(-1), power).reshape(call.type.shape)


def _root_of(sums: Tensor, power: int) -> Tensor:
    if power == 1:
        return sums
    if power == 2:
        return root(sums)
    positive = sums > 0
    return torch.where(positive, torch.where(positive, sums, 1.0) ** (1 / power), sums)


def _adaptive_places(call: Call) -> Places:
    return [_uneven(size, count) for size, count in zip(call.types[0].shape[2:], call.attributes["size"], strict=True)]


def _uneven(size: int, count: int) -> Tensor:
    """Windows from ⌊i n / m⌋ to ⌈(i + 1) n / m⌉."""
    numbers = torch.arange(count)
    starts = torch.div(numbers * size, count, rounding_mode="floor").unsqueeze(1)
    ends = -torch.div(-(numbers + 1) * size, count, rounding_mode="floor").unsqueeze(1)
    places = starts + torch.arange(int((ends - starts).max()))
    return torch.where(places < ends, places, OUTSIDE)


def adaptive(mean_or_largest: Callable[[Call, Tensor, Places], Tensor]) -> Formula:
    return lambda call, x: mean_or_largest(call, x, _adaptive_places(call))


WINDOWS: Mapping[str, Formula] = {
    "conv": conv,
    "conv_transpose": conv_transpose,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "lp_pool": lp_pool,
    "adaptive_avg_pool": adaptive(lambda call, x, places: _mean(call, x, places, [0] * len(places))),
    "adaptive_max_pool": adaptive(_largest),
}
