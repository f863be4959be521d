"""Formulas of products with matrices, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.elementwise import sigmoid
from jostle.frameworks.reference.numbers import Formula, plain
from jostle.frameworks.reference.reductions import softmax
from jostle.frameworks.reference.undefined import undefined_where


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.matmul(x, weight.T) + bias


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
    "attention": attention,
    "rnn": plain(rnn),
    "lstm": plain(lstm),
    "gru": plain(gru),
}
