"""Formulas of the operators that describe the elements along axes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.numbers import Formula, root
from jostle.frameworks.reference.reductions import (
    count,
    largest,
    mean,
    order,
    over_axes,
    scanned,
    smallest,
    summed,
)
from jostle.frameworks.reference.undefined import undefined_with_nan


def _numbers(x: Tensor) -> Tensor:
    """x with 0 in the place of NaN."""
    return torch.where(x.isnan(), 0.0, x)


def nanmean(x: Tensor, axes: list[int]) -> Tensor:
    return summed(_numbers(x), axes) / summed(~x.isnan(), axes)


def lp_norm(call: Call, x: Tensor) -> Tensor:
    axes, p = list(call.attributes["axes"]), call.attributes["p"]
    sizes = x.abs()
    if math.isinf(p):
        found = (largest if p > 0 else smallest)(sizes, axes)
    elif p == 0:
        found = summed(x != 0, axes).to(torch.float64)
    else:
        found = _root_of(summed(torch.square(x) if p == 2 else sizes**p, axes), p)
    return found.reshape(call.type.shape)


def _root_of(sums: Tensor, p: float) -> Tensor:
    if p in (1, 2):
        return sums if p == 1 else root(sums)
    positive = sums > 0
    return torch.where(positive, torch.where(positive, sums, 1.0) ** (1 / p), sums)


def _between(ordered: Tensor, axis: int, place: float) -> Tensor:
    """What lies at a place between two of an axis."""
    low = math.floor(place)
    part = place - low
    below = ordered.narrow(axis, low, 1)
    if part == 0:
        return below
    return below * (1 - part) + ordered.narrow(axis, low + 1, 1) * part


def _in_order(x: Tensor, axis: int, name: str) -> Tensor:
    undefined_with_nan(x, name)
    return x.gather(axis, order(x, axis, False))


def quantile(call: Call, x: Tensor, q: float) -> Tensor:
    axis = call.attributes["axis"]
    ordered = _in_order(x, axis, call.node.operator)
    return _between(ordered, axis, q * (x.shape[axis] - 1)).reshape(call.type.shape)


def nanmedian(call: Call, x: Tensor) -> Tensor:
    """numpy puts NaN after all numbers."""
    axis = call.attributes["axis"]
    ordered = x.gather(axis, order(x, axis, False))
    numbers = summed(~x.isnan(), [axis])
    places = ((numbers - 1).clamp(min=0) // 2, (numbers // 2).clamp(max=x.shape[axis] - 1))
    low, high = (ordered.gather(axis, place) for place in places)
    # The mean of two equal infinities is one, that of one number that number.
    return torch.where(low == high, low, (low + high) / 2).reshape(call.type.shape)


def kth_value(call: Call, x: Tensor, k: int) -> Tensor:
    axis = call.attributes["axis"]
    return _in_order(x, axis, call.node.operator).narrow(axis, k, 1).reshape(call.type.shape)


def cummin(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "cummin")
    return scanned(x, call.attributes["axis"], torch.minimum)


def argsort(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "argsort")
    return order(x, call.attributes["axis"], call.attributes["descending"])


def diff(call: Call, x: Tensor) -> Tensor:
    axis = call.attributes["axis"]
    for _ in range(call.attributes["n"]):
        size = x.shape[axis] - 1
        x = x.narrow(axis, 1, size) - x.narrow(axis, 0, size)
    return x


def trapezoid(call: Call, x: Tensor) -> Tensor:
    axis: int = call.attributes["axis"]
    dx: float = call.attributes["dx"]
    size = x.shape[axis] - 1
    return ((x.narrow(axis, 0, size) + x.narrow(axis, 1, size)) / 2).sum(axis) * dx


def _covariance(x: Tensor, correction: int) -> Tensor:
    apart = x - mean(x, [1])
    return torch.matmul(apart, apart.T) / (count(x, [1]) - correction)


def correlation(x: Tensor) -> Tensor:
    covariance = _covariance(x, 1)
    deviations = root(covariance.diagonal())
    return covariance / deviations.unsqueeze(1) / deviations


def bin_counts(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "counts")
    low, high, bins = (call.attributes[name] for name in ("low", "high", "bins"))
    inside = x[(x >= low) & (x <= high)]
    places = torch.floor((inside - low) / (high - low) * bins).clamp(max=bins - 1)
    return (places.unsqueeze(0) == torch.arange(bins).unsqueeze(1)).sum(1)


def bucketize(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "a bucket")
    boundaries = torch.tensor(call.attributes["boundaries"], dtype=torch.float64)
    x = x.unsqueeze(-1)
    return (boundaries <= x if call.attributes["right"] else boundaries < x).sum(-1)


STATISTICS: Mapping[str, Formula] = {
    "nansum": over_axes(lambda x, axes: summed(_numbers(x), axes)),
    "nanmean": over_axes(nanmean),
    "sum_square": over_axes(lambda x, axes: summed(torch.square(x), axes)),
    "log_sum": over_axes(lambda x, axes: torch.log(summed(x, axes))),
    "lp_norm": lp_norm,
    "reduce_no_axes": lambda call, x: x,
    "median": lambda call, x: quantile(call, x, 0.5),
    "nanmedian": nanmedian,
    "lower_median": lambda call, x: kth_value(call, x, (x.shape[call.attributes["axis"]] - 1) // 2),
    "quantile": lambda call, x: quantile(call, x, call.attributes["q"]),
    "kth_value": lambda call, x: kth_value(call, x, call.attributes["k"] - 1),
    "cummin": cummin,
    "argsort": argsort,
    "diff": diff,
    "trapezoid": trapezoid,
    "covariance": lambda call, x: _covariance(x, call.attributes["correction"]),
    "correlation": lambda call, x: correlation(x),
    "bin_counts": bin_counts,
    "bucketize": bucketize,
}
