"""How JAX computes recurrent layers from given states: by loops that functions.py defines."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression


def _rnn(call: Call) -> str:
    activation = {"tanh": "jnp.tanh", "relu": "jax.nn.relu"}[call.attributes["activation"]]
    return f"rnn_from({', '.join(call.node.inputs)}, {activation}, {call.literal('reverse')})"


def _lstm(call: Call) -> str:
    return f"lstm_from({', '.join(call.node.inputs)}, {call.literal('clip')}, {call.literal('reverse')})"


RECURRENT: Mapping[str, Expression] = {"rnn_from": _rnn, "lstm_from": _lstm}
