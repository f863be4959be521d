"""Formulas of the operators that combine the elements along axes, or put them in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.numbers import Formula, along, root
from jostle.frameworks.reference.undefined import undefined_where, undefined_with_nan

Combine = Callable[[Tensor, Tensor], Tensor]


def over_axes(function: Callable[[Tensor, list[int]], Tensor]) -> Formula:
    """`function` reduces a tensor over axes and keeps them."""

    def formula(call: Call, x: Tensor) -> Tensor:
        return function(x, list(call.attributes["axes"])).reshape(call.type.shape)

    return formula


def count(x: Tensor, axes: list[int]) -> int:
    return math.prod(x.shape[axis] for axis in axes)


def summed(x: Tensor, axes: list[int]) -> Tensor:
    return x.sum(axes, keepdim=True)


def mean(x: Tensor, axes: list[int]) -> Tensor:
    return summed(x, axes) / count(x, axes)


def largest(x: Tensor, axes: list[int]) -> Tensor:
    return x.amax(axes, keepdim=True)


def smallest(x: Tensor, axes: list[int]) -> Tensor:
    return x.amin(axes, keepdim=True)


def folded(x: Tensor, axis: int, combine: Combine) -> Tensor:
    """All along an axis, which is not empty, combined to one, which stays; halves with halves."""
    while (size := x.shape[axis]) > 1:
        half = size // 2
        both = combine(x.narrow(axis, 0, half), x.narrow(axis, half, half))
        x = torch.cat([both, x.narrow(axis, 2 * half, 1)], axis) if size % 2 else both
    return x


def product(x: Tensor, axes: list[int]) -> Tensor:
    for axis in axes:
        if x.shape[axis] == 0:
            x = torch.ones([1 if at == axis else size for at, size in enumerate(x.shape)], dtype=x.dtype)
        else:
            x = folded(x, axis, torch.mul)
    return x


def logsumexp(x: Tensor, axes: list[int]) -> Tensor:
    top = finite_top(largest(x, axes))
    return top + summed(torch.exp(x - top), axes).log()


def finite_top(top: Tensor) -> Tensor:
    """What may be taken off before exp without changing a sum of exponentials."""
    top = top.detach()
    return torch.where(top.isfinite(), top, 0.0)


def var(x: Tensor, axes: list[int], correction: int = 0) -> Tensor:
    squares = summed(torch.square(x - mean(x, axes)), axes)
    return squares / torch.tensor(float(count(x, axes) - correction), dtype=torch.float64)


def _var(call: Call, x: Tensor) -> Tensor:
    return var(x, list(call.attributes["axes"]), call.attributes["correction"]).reshape(call.type.shape)


def first_position(of_extreme: Callable[[Tensor, list[int]], Tensor], name: str) -> Formula:
    def formula(call: Call, x: Tensor) -> Tensor:
        undefined_with_nan(x, name)
        axis = call.attributes["axis"]
        is_extreme = x == of_extreme(x, [axis])
        places = along(torch.arange(x.shape[axis]), axis, x.dim())
        return torch.where(is_extreme, places, x.shape[axis]).amin(axis).reshape(call.type.shape)

    return formula


def scanned(x: Tensor, axis: int, combine: Combine) -> Tensor:
    """Each combined with all before it along an axis; every step doubles how far it has looked back."""
    size, distance = x.shape[axis], 1
    while distance < size:
        both = combine(x.narrow(axis, 0, size - distance), x.narrow(axis, distance, size - distance))
        x = torch.cat([x.narrow(axis, 0, distance), both], axis)
        distance *= 2
    return x


def turned(x: Tensor, axis: int) -> Tensor:
    return x.index_select(axis, torch.arange(x.shape[axis] - 1, -1, -1))


def cumsum(call: Call, x: Tensor) -> Tensor:
    axis, reverse = call.attributes["axis"], call.attributes["reverse"]
    x = turned(x, axis) if reverse else x
    sums = scanned(x, axis, torch.add)
    if call.attributes["exclusive"]:
        sums = torch.cat([torch.zeros_like(sums.narrow(axis, 0, 1)), sums.narrow(axis, 0, x.shape[axis] - 1)], axis)
    return turned(sums, axis) if reverse else sums


def cummax(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "cummax")
    return scanned(x, call.attributes["axis"], torch.maximum)


def logaddexp(a: Tensor, b: Tensor) -> Tensor:
    top = finite_top(torch.maximum(a, b))
    return top + torch.log(torch.exp(a - top) + torch.exp(b - top))


def softmax(x: Tensor, axis: int) -> Tensor:
    powers = torch.exp(x - largest(x, [axis]).detach())
    return powers / summed(powers, [axis])


def log_softmax(x: Tensor, axis: int) -> Tensor:
    x = x - largest(x, [axis]).detach()
    return x - torch.log(summed(torch.exp(x), [axis]))


def order(x: Tensor, axis: int, descending: bool) -> Tensor:
    """The positions of an axis in the order of their values, equal ones in their own order."""
    values = x.detach().numpy()
    if not descending:
        return torch.from_numpy(np.argsort(values, axis, kind="stable"))
    backwards = np.flip(np.argsort(np.flip(values, axis), axis, kind="stable"), axis)
    return torch.from_numpy(x.shape[axis] - 1 - backwards)


def sort(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "sort")
    axis = call.attributes["axis"]
    return x.gather(axis, order(x, axis, call.attributes["descending"]))


def _top(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "the largest")
    axis = call.attributes["axis"]
    return order(x, axis, call.attributes["largest"]).narrow(axis, 0, call.attributes["k"])


def topk_values(call: Call, x: Tensor) -> Tensor:
    return x.gather(call.attributes["axis"], _top(call, x))


def topk_indices(call: Call, x: Tensor) -> Tensor:
    axis, top = call.attributes["axis"], _top(call, x)
    chosen = x.gather(axis, top).movedim(axis, -1).unsqueeze(-1)
    alike = (x.movedim(axis, -1).unsqueeze(-2) == chosen).sum(-1)
    undefined_where(alike > 1, "positions of the largest where several are equal")
    return top


REDUCTIONS: Mapping[str, Formula] = {
    "sum": over_axes(summed),
    "mean": over_axes(mean),
    "prod": over_axes(product),
    "max": over_axes(largest),
    "min": over_axes(smallest),
    "l1_norm": over_axes(lambda x, axes: summed(x.abs(), axes)),
    "l2_norm": over_axes(lambda x, axes: root(summed(torch.square(x), axes))),
    "logsumexp": over_axes(logsumexp),
    "var": _var,
    "std": lambda call, x: root(_var(call, x)),
    "all": over_axes(lambda x, axes: summed(~x, axes) == 0),
    "any": over_axes(lambda x, axes: summed(x, axes) != 0),
    "count_nonzero": over_axes(lambda x, axes: summed(x != 0, axes)),
    "argmax": first_position(largest, "argmax"),
    "argmin": first_position(smallest, "argmin"),
    "cumsum": cumsum,
    "cumprod": lambda call, x: scanned(x, call.attributes["axis"], torch.mul),
    "cummax": cummax,
    "logcumsumexp": lambda call, x: scanned(x, call.attributes["axis"], logaddexp),
    "softmax": lambda call, x: softmax(x, call.attributes["axis"]),
    "log_softmax": lambda call, x: log_softmax(x, call.attributes["axis"]),
    "sort": sort,
    "topk_values": topk_values,
    "topk_indices": topk_indices,
}
