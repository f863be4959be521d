"""Formulas of the operators that divide by how large the elements are."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.elementwise import not_below
from jostle.frameworks.reference.indexing import at_places
from jostle.frameworks.reference.numbers import Formula, along, root
from jostle.frameworks.reference.reductions import mean, summed, var


def normalised(x: Tensor, axes: list[int], epsilon: float) -> Tensor:
    return (x - mean(x, axes)) / torch.sqrt(var(x, axes) + epsilon)


def _per_channel(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return x * along(scale, 1, x.dim()) + along(bias, 1, x.dim())


def batch_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    deviations = torch.sqrt(along(variances, 1, x.dim()) + call.attributes["epsilon"])
    return _per_channel((x - along(means, 1, x.dim())) / deviations, scale, bias)


def batch_norm_training(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    axes = [axis for axis in range(x.dim()) if axis != 1]
    return _per_channel(normalised(x, axes, call.attributes["epsilon"]), scale, bias)


def instance_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return _per_channel(normalised(x, list(range(2, x.dim())), call.attributes["epsilon"]), scale, bias)


def group_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    groups = x.reshape(x.shape[0], call.attributes["groups"], -1)
    return _per_channel(normalised(groups, [2], call.attributes["epsilon"]).reshape(x.shape), scale, bias)


def layer_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    axes = list(range(call.attributes["axis"], x.dim()))
    return normalised(x, axes, call.attributes["epsilon"]) * scale + bias


def rms_norm(call: Call, x: Tensor, scale: Tensor) -> Tensor:
    return x / torch.sqrt(mean(torch.square(x), [-1]) + call.attributes["epsilon"]) * scale


def l2_normalize(call: Call, x: Tensor) -> Tensor:
    lengths = root(summed(torch.square(x), [call.attributes["axis"]]))
    return x / not_below(lengths, call.attributes["epsilon"])


def response(call: Call, x: Tensor, before: int) -> Tensor:
    """`before`: how many of the neighbours come before a channel."""
    size, alpha, beta, k = (call.attributes[name] for name in ("size", "alpha", "beta", "k"))
    channels = x.shape[1]
    places = torch.arange(channels).unsqueeze(1) - before + torch.arange(size)
    neighbours = at_places(torch.square(x), 1, places.flatten(), 0.0)
    sums = neighbours.reshape(x.shape[0], channels, size, *x.shape[2:]).sum(2)
    return x / torch.pow(k + alpha / size * sums, beta)


NORMALISATION: Mapping[str, Formula] = {
    "batch_norm": batch_norm,
    "batch_norm_training": batch_norm_training,
    "instance_norm": instance_norm,
    "group_norm": group_norm,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "l2_normalize": l2_normalize,
    "local_response_norm": lambda call, x: response(call, x, call.attributes["size"] // 2),
}
