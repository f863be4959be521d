"""How ONNX computes products with matrices, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native, only_float32

# Which of our gates stands where in ONNX.
LSTM_GATES, GRU_GATES = (0, 3, 1, 2), (1, 0, 2)


def _linear(s: Sketch) -> str:
    if s.x.rank == 2:
        return s.add("Gemm", s[0], s[1], s[2], transB=1)
    return s.add("Add", s.add("MatMul", s[0], s.add("Transpose", s[1], perm=[1, 0])), s[2])


def _attention(s: Sketch) -> str:
    heads = {"q_num_heads": 1, "kv_num_heads": 1}
    return s.add("Attention", *s.call.node.inputs, **heads, is_causal=s.attributes["causal"])


def _recurrent(kind: str, order: Sequence[int], **attributes: Any) -> Sketcher:
    def sketch(s: Sketch) -> str:
        hidden = s.call.types[2].shape[1]
        first = s.constant("first", [0])
        weights = [s.add("Unsqueeze", gates(s, name, order, hidden), first) for name in (s[1], s[2])]
        biases = s.add("Concat", *(gates(s, name, order, hidden) for name in (s[3], s[4])), axis=0)
        states = s.add(kind, s[0], *weights, s.add("Unsqueeze", biases, first), hidden_size=hidden, **attributes)
        return s.add("Squeeze", states, s.constant("direction", [1]))

    return sketch


def gates(s: Sketch, name: str, order: Sequence[int], hidden: int) -> str:
    """Weights or biases of gates, in ONNX's order."""
    if len(order) == 1:
        return name
    rows = [gate * hidden + row for gate in order for row in range(hidden)]
    return s.add("Gather", name, s.constant(f"gates_of_{len(s.nodes)}", rows), axis=0)


LAYERS: Mapping[str, Sketcher] = {
    "matmul": native("MatMul"),
    "linear": _linear,
    "attention": only_float32(_attention, "the scale"),
    "rnn": _recurrent("RNN", (0,)),
    "lstm": _recurrent("LSTM", LSTM_GATES),
    "gru": _recurrent("GRU", GRU_GATES, linear_before_reset=1),
}
