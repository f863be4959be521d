"""Our operators for those of ONNX that multiply matrices, attend, or remember states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jostle.frameworks.importing.onnx_reading import Counterpart, NoCounterpart, Read, Reading


def _gemm(g: Reading, node: Read) -> Sequence[str]:
    a, b = (g.tensor(name) for name in node.inputs[:2])
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
    a = g.add("transpose", a, permutation=[1, 0]) if node.attributes.get("transA", 0) else a
    if node.has(2) and alpha == beta == 1 and node.attributes.get("transB", 0):
        bias = g.tensor(node.inputs[2])
        if g.type(bias).shape == g.type(b).shape[:1]:
            return [g.add("linear", a, b, bias)]
    b = g.add("transpose", b, permutation=[1, 0]) if node.attributes.get("transB", 0) else b
    product = _times(g, g.add("matmul", a, b), alpha)
    return [g.add("add", product, _times(g, g.tensor(node.inputs[2]), beta)) if node.has(2) else product]


def _times(g: Reading, x: str, factor: float) -> str:
    return x if factor == 1 else g.add("mul", x, g.number(factor, x))


def _attention(g: Reading, node: Read) -> Sequence[str]:
    """One head without a mask, on [batch, length, width]."""
    node.without(3, 4, 5, 6)
    node.only(q_num_heads=1, kv_num_heads=1, softcap=0.0, qk_matmul_output_mode=0)
    if "scale" in node.attributes:
        raise NoCounterpart("Attention with scale")
    return [g.add("attention", *map(g.tensor, node.inputs[:3]), causal=bool(node.attributes.get("is_causal", 0)))]


def _recurrent(operator: str, order: Sequence[int], **needed: Any) -> Counterpart:
    """`order`: which gate of ONNX stands where with us."""

    def add(g: Reading, node: Read) -> Sequence[str]:
        node.only(direction="forward", layout=0, activations=[], clip=0.0, input_forget=0)
        if any(node.attributes.get(name, 0) != value for name, value in needed.items()):
            raise NoCounterpart(f"{node.kind} without {', '.join(f'{name}={value}' for name, value in needed.items())}")
        _refuse_states(g, node)
        x, weights = g.tensor(node.inputs[0]), [g.known(node, place)[0] for place in (1, 2)]
        hidden = weights[1].shape[1]
        biases = g.known(node, 3)[0] if node.has(3) else np.zeros(2 * len(order) * hidden, weights[0].dtype)
        parts = [*weights, *np.split(biases, 2)]
        rows = [gate * hidden + row for gate in order for row in range(hidden)]
        states = g.add(operator, x, *(g.constant(part[rows], operator) for part in parts))
        return _states(g, states)[: len(node.outputs)]

    return add


def _refuse_states(g: Reading, node: Read) -> None:
    """States at the start must be zeros; lengths, peepholes and the cell's last state are not ours."""
    node.without(4, 7)
    for place in (5, 6):
        if node.has(place) and g.known(node, place).any():
            raise NoCounterpart(f"{node.kind} with an initial state")
    if len(node.outputs) > 2 and node.outputs[2]:
        raise NoCounterpart(f"{node.kind} with output Y_c")


def _states(g: Reading, states: str) -> list[str]:
    """[time, 1, batch, hidden], and the last of them."""
    time, batch, hidden = g.type(states).shape
    last = g.add("slice", states, starts=[time - 1, 0, 0], sizes=[1, batch, hidden], steps=[1, 1, 1])
    return [g.add("unsqueeze", states, axes=[1]), last]


LAYERS: Mapping[str, Counterpart] = {
    "MatMul": lambda g, node: [g.add("matmul", *map(g.tensor, node.inputs))],
    "Gemm": _gemm,
    "Attention": _attention,
    "RNN": _recurrent("rnn", (0,)),
    "LSTM": _recurrent("lstm", (0, 2, 3, 1)),
    "GRU": _recurrent("gru", (1, 0, 2), linear_before_reset=1),
}
