"""How ONNX computes recurrent layers from given states, with clips and peepholes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.backends.onnx.layers import GRU_GATES, LSTM_GATES, gates
from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher


def _layer(s: Sketch, kind: str, order: tuple[int, ...], biases: str, *more: str, **attributes: Any) -> str:
    """`more`: the states, as [directions, batch, hidden], and peepholes; an empty name for what is not given."""
    hidden, first = s.call.type.shape[2], s.constant("first", [0])
    weights = [s.add("Unsqueeze", gates(s, name, order, hidden), first) for name in (s[1], s[2])]
    given = [*weights, s.add("Unsqueeze", biases, first), ""]
    given += [s.add("Unsqueeze", name, first) if name else "" for name in more]
    direction = "reverse" if s.attributes["reverse"] else "forward"
    states = s.add(kind, s[0], *given, hidden_size=hidden, direction=direction, **attributes)
    return s.add("Squeeze", states, s.constant("directions", [1]))


def _with_zeros(s: Sketch, bias: str) -> str:
    """The bias of what is read, and one of zeros of the state."""
    zeros = s.constant("zeros", [0.0] * s.call.types[3].shape[0], s.x.dtype)
    return s.add("Concat", bias, zeros, axis=0)


def _rnn(s: Sketch) -> str:
    kind = {"tanh": "Tanh", "relu": "Relu"}[s.attributes["activation"]]
    return _layer(s, "RNN", (0,), _with_zeros(s, s[3]), s[4], activations=[kind])


def _lstm(s: Sketch) -> str:
    clip = {"clip": s.attributes["clip"]} if s.attributes["clip"] else {}
    biases = _with_zeros(s, gates(s, s[3], LSTM_GATES, s.call.type.shape[2]))
    return _layer(s, "LSTM", LSTM_GATES, biases, s[4], s[5], **clip)


def _gru(s: Sketch) -> str:
    """Both biases are one after the other, the gates of each in ONNX's order."""
    hidden = s.call.type.shape[2]
    rows = [(half + gate) * hidden + row for half in (0, 3) for gate in GRU_GATES for row in range(hidden)]
    biases = s.add("Gather", s[3], s.constant("biases", rows), axis=0)
    return _layer(s, "GRU", GRU_GATES, biases, s[4], linear_before_reset=s.attributes["reset_after"])


def _peephole(s: Sketch) -> str:
    biases = _with_zeros(s, gates(s, s[3], LSTM_GATES, s.call.type.shape[2]))
    return _layer(s, "LSTM", LSTM_GATES, biases, "", "", s[4])


RECURRENT: Mapping[str, Sketcher] = {
    "rnn_from": _rnn,
    "lstm_from": _lstm,
    "gru_from": _gru,
    "lstm_peephole": _peephole,
}
