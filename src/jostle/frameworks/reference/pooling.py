"""Formulas of the operators that give one number for each window of an image."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.convolutions import OUTSIDE, Places, per_axis, seen
from jostle.frameworks.reference.numbers import Formula, root
from jostle.frameworks.reference.undefined import undefined_where


def _pool_places(call: Call) -> Places:
    return per_axis(call, call.attributes["kernel"], "strides", "padding", "dilations")


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


POOLING: Mapping[str, Formula] = {
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "lp_pool": lp_pool,
    "adaptive_avg_pool": adaptive(lambda call, x, places: _mean(call, x, places, [0] * len(places))),
    "adaptive_max_pool": adaptive(_largest),
}
