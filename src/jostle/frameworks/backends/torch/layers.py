"""How torch computes products with matrices, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import templates


def _recurrent(function: str, states: int) -> Expression:
    """One layer, from states of zeros."""

    def expression(call: Call) -> str:
        _, batch, hidden = call.type.shape
        zeros = f"{call[0]}.new_zeros(1, {batch}, {hidden})"
        state = zeros if states == 1 else f"[{', '.join([zeros] * states)}]"
        settings = "has_biases=True, num_layers=1, dropout=0.0, train=True, bidirectional=False, batch_first=False"
        return f"torch.{function}({call[0]}, {state}, [{', '.join(call.node.inputs[1:])}], {settings})[0]"

    return expression


LAYERS: Mapping[str, Expression] = {
    **templates(
        {
            "matmul": "torch.matmul({0}, {1})",
            "linear": "F.linear({0}, {1}, {2})",
            "attention": "F.scaled_dot_product_attention({0}, {1}, {2}, is_causal={causal})",
        }
    ),
    "rnn": _recurrent("rnn_tanh", 1),
    "lstm": _recurrent("lstm", 2),
    "gru": _recurrent("gru", 1),
}
