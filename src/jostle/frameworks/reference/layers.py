"""Formulas of the operators with weights: products, normalisation, attention and recurrence."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.elementwise import not_below, plain, sigmoid
from jostle.frameworks.reference.numbers import Formula, root
from jostle.frameworks.reference.reductions import along, mean, softmax, summed, var
from jostle.frameworks.reference.shaping import at_places
from jostle.frameworks.reference.undefined import undefined_where


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.matmul(x, weight.T) + bias


def _normalised(x: Tensor, axes: list[int], epsilon: float) -> Tensor:
    return (x - mean(x, axes)) / torch.sqrt(var(x, axes) + epsilon)


def _per_channel(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return x * along(scale, 1, x.dim()) + along(bias, 1, x.dim())


def batch_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    deviations = torch.sqrt(along(variances, 1, x.dim()) + call.attributes["epsilon"])
    return _per_channel((x - along(means, 1, x.dim())) / deviations, scale, bias)


def batch_norm_training(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    axes = [axis for axis in range(x.dim()) if axis != 1]
    return _per_channel(_normalised(x, axes, call.attributes["epsilon"]), scale, bias)


def instance_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return _per_channel(_normalised(x, list(range(2, x.dim())), call.attributes["epsilon"]), scale, bias)


def group_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    groups = x.reshape(x.shape[0], call.attributes["groups"], -1)
    return _per_channel(_normalised(groups, [2], call.attributes["epsilon"]).reshape(x.shape), scale, bias)


def layer_norm(call: Call, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    axes = list(range(call.attributes["axis"], x.dim()))
    return _normalised(x, axes, call.attributes["epsilon"]) * scale + bias


def rms_norm(call: Call, x: Tensor, scale: Tensor) -> Tensor:
    return x / torch.sqrt(mean(torch.square(x), [-1]) + call.attributes["epsilon"]) * scale


def l2_normalize(call: Call, x: Tensor) -> Tensor:
    lengths = root(summed(torch.square(x), [call.attributes["axis"]]))
    return x / not_below(lengths, call.attributes["epsilon"])


def local_response_norm(call: Call, x: Tensor) -> Tensor:
    size, alpha, beta, k = (call.attributes[name] for name in ("size", "alpha", "beta", "k"))
    channels = x.shape[1]
    places = torch.arange(channels).unsqueeze(1) - size // 2 + torch.arange(size)
    neighbours = at_places(torch.square(x), 1, places.flatten(), 0.0)
    sums = neighbours.reshape(x.shape[0], channels, size, *x.shape[2:]).sum(2)
    return x / torch.pow(k + alpha / size * sums, beta)


def prelu(x: Tensor, slope: Tensor) -> Tensor:
    above = x > 0
    return torch.where(above, x, along(slope, 1, x.dim()) * torch.where(above, 0.0, x))


def glu(call: Call, x: Tensor) -> Tensor:
    axis = call.attributes["axis"]
    half = x.shape[axis] // 2
    return x.narrow(axis, 0, half) * sigmoid(x.narrow(axis, half, half))


def dropout(call: Call, x: Tensor, mask: Tensor) -> Tensor:
    kept = 1 - float(call.attributes["rate"])
    return x * mask / kept


def attention(call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = torch.einsum("bqw,bkw->bqk", query, key) / sqrt(query.shape[2])
    if call.attributes["causal"]:
        visible = torch.arange(key.shape[1]) <= torch.arange(query.shape[1]).unsqueeze(1)
        hidden_values = ~visible.all(0).unsqueeze(-1) & ~value.isfinite()
        undefined_where(~visible & ~scores.isfinite(), "attention to a hidden key that is not finite")
        undefined_where(hidden_values, "attention to a hidden value that is not finite")
        scores = torch.where(visible, scores, -torch.inf)
    undefined_where(scores.amax(2) == -torch.inf, "attention to nothing")  # NaN by the formula, 0 in torch by intent
    return torch.matmul(softmax(scores, 2), value)


def rnn(x: Tensor, taken: Tensor, kept: Tensor, bias: Tensor, other: Tensor) -> Tensor:
    state, states = x.new_zeros(x.shape[1], kept.shape[1]), []
    for given in x:
        state = torch.tanh(linear(given, taken, bias) + linear(state, kept, other))
        states.append(state)
    return torch.stack(states)


def lstm(x: Tensor, taken: Tensor, kept: Tensor, bias: Tensor, other: Tensor) -> Tensor:
    state = cell = x.new_zeros(x.shape[1], kept.shape[1])
    states = []
    for given in x:
        gates = linear(given, taken, bias) + linear(state, kept, other)
        enter, forget, new, out = gates.split(kept.shape[1], 1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * torch.tanh(new)
        state = sigmoid(out) * torch.tanh(cell)
        states.append(state)
    return torch.stack(states)


def gru(x: Tensor, taken: Tensor, kept: Tensor, bias: Tensor, other: Tensor) -> Tensor:
    state, states = x.new_zeros(x.shape[1], kept.shape[1]), []
    for given in x:
        reset, update, new = linear(given, taken, bias).split(kept.shape[1], 1)
        state_reset, state_update, state_new = linear(state, kept, other).split(kept.shape[1], 1)
        old = sigmoid(update + state_update)
        state = (1 - old) * torch.tanh(new + sigmoid(reset + state_reset) * state_new) + old * state
        states.append(state)
    return torch.stack(states)


LAYERS: Mapping[str, Formula] = {
    "matmul": plain(torch.matmul),
    "linear": plain(linear),
    "batch_norm": batch_norm,
    "batch_norm_training": batch_norm_training,
    "instance_norm": instance_norm,
    "group_norm": group_norm,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "l2_normalize": l2_normalize,
    "local_response_norm": local_response_norm,
    "prelu": plain(prelu),
    "glu": glu,
    "dropout": dropout,
    "attention": attention,
    "rnn": plain(rnn),
    "lstm": plain(lstm),
    "gru": plain(gru),
}
