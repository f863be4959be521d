"""How Paddle computes products with matrices, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Container, Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import template


def _attention(call: Call) -> str:
    heads = ", ".join(f"{call[place]}.unsqueeze(2)" for place in range(3))
    return f"F.scaled_dot_product_attention({heads}, is_causal={call.literal('causal')}).squeeze(2)"


LAYER_CLASSES = {"rnn": "SimpleRNN", "lstm": "LSTM", "gru": "GRU"}
WEIGHTS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def layer_of(call: Call, leaves: Container[str]) -> list[str]:
    """Lines that make the layer which a node calls, if it calls one, before anything is computed."""
    if call.node.operator not in LAYER_CLASSES:
        return []
    if any(name not in leaves for name in call.node.inputs[1:]):
        raise Unsupported("has recurrent layers with weights of their own, and none that are computed")
    layer, sizes = f"{call.node.name}_layer", f"{call.types[0].shape[2]}, {call.type.shape[2]}"
    return [
        f'paddle.set_default_dtype("{call.type.dtype}")',
        f"{layer} = paddle.nn.{LAYER_CLASSES[call.node.operator]}({sizes}, time_major=True)",
        *(f"{layer}.{weight}.set_value({name})" for weight, name in zip(WEIGHTS, call.node.inputs[1:], strict=True)),
        'paddle.set_default_dtype("float32")',
    ]


def _recurrent(call: Call) -> str:
    return f"{call.node.name}_layer({call[0]})[0]"


LAYERS: Mapping[str, Expression] = {
    "matmul": template("paddle.matmul({0}, {1})"),
    "linear": template("F.linear({0}, {1}.T, {2})"),
    "attention": _attention,
    "rnn": _recurrent,
    "lstm": _recurrent,
    "gru": _recurrent,
}
