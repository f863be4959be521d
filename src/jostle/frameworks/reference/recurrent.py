"""Formulas of recurrent layers from given states, and with what only some definitions have."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.elementwise import not_below, sigmoid, within
from jostle.frameworks.reference.layers import linear
from jostle.frameworks.reference.numbers import Formula
from jostle.frameworks.reference.undefined import undefined_where


def _in_time(call: Call, x: Tensor) -> Tensor:
    """The times in the order in which they are read, or the states in that of the times."""
    return x.flip(0) if call.attributes["reverse"] else x


def rnn_from(call: Call, x: Tensor, taken: Tensor, kept: Tensor, bias: Tensor, state: Tensor) -> Tensor:
    states = []
    for given in _in_time(call, x):
        gate = linear(given, taken, bias) + torch.matmul(state, kept.T)
        state = torch.tanh(gate) if call.attributes["activation"] == "tanh" else not_below(gate, 0.0)
        states.append(state)
    return _in_time(call, torch.stack(states))


def lstm_from(call: Call, x: Tensor, taken: Tensor, kept: Tensor, bias: Tensor, state: Tensor, cell: Tensor) -> Tensor:
    clip, states = call.attributes["clip"], []
    for given in _in_time(call, x):
        gates = linear(given, taken, bias) + torch.matmul(state, kept.T)
        enter, forget, new, out = (within(gates, -clip, clip) if clip else gates).split(kept.shape[1], 1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * torch.tanh(new)
        if clip:
            undefined_where(cell.abs() > clip, "whether the cell is clipped as gates are")
        state = sigmoid(out) * torch.tanh(cell)
        states.append(state)
    return _in_time(call, torch.stack(states))


def gru_from(call: Call, x: Tensor, taken: Tensor, kept: Tensor, bias: Tensor, state: Tensor) -> Tensor:
    hidden, states = kept.shape[1], []
    own, other = bias.split(3 * hidden)
    for given in _in_time(call, x):
        reset, update, new = linear(given, taken, own).split(hidden, 1)
        state_reset, state_update, state_new = linear(state, kept, other).split(hidden, 1)
        opened, old = sigmoid(reset + state_reset), sigmoid(update + state_update)
        if call.attributes["reset_after"]:
            seen = opened * state_new
        else:
            seen = linear(opened * state, kept[2 * hidden :], other[2 * hidden :])
        state = (1 - old) * torch.tanh(new + seen) + old * state
        states.append(state)
    return _in_time(call, torch.stack(states))


def lstm_peephole(call: Call, x: Tensor, taken: Tensor, kept: Tensor, bias: Tensor, seen: Tensor) -> Tensor:
    hidden, states = kept.shape[1], []
    of_enter, of_out, of_forget = seen.split(hidden)
    state = cell = x.new_zeros(x.shape[1], hidden)
    for given in _in_time(call, x):
        enter, forget, new, out = (linear(given, taken, bias) + torch.matmul(state, kept.T)).split(hidden, 1)
        entering, kept_on = sigmoid(enter + of_enter * cell), sigmoid(forget + of_forget * cell)
        cell = kept_on * cell + entering * torch.tanh(new)
        state = sigmoid(out + of_out * cell) * torch.tanh(cell)
        states.append(state)
    return _in_time(call, torch.stack(states))


RECURRENT: Mapping[str, Formula] = {
    "rnn_from": rnn_from,
    "lstm_from": lstm_from,
    "gru_from": gru_from,
    "lstm_peephole": lstm_peephole,
}
