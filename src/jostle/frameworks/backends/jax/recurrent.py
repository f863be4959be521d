"""How JAX computes recurrent layers from given states: by loops that a program defines before its model."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression

RNN_FROM = """
def rnn_from(x, w, u, b, h, activation, reverse):
    def step(h, x):
        h = activation(x @ w.T + b + h @ u.T)
        return h, h

    return lax.scan(step, h, x, reverse=reverse)[1]
"""
LSTM_FROM = """
def lstm_from(x, w, u, b, h, cell, clip, reverse):
    def step(state, x):
        h, cell = state
        gates = x @ w.T + b + h @ u.T
        i, f, g, o = jnp.split(jnp.clip(gates, -clip, clip) if clip else gates, 4, axis=1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (h, cell), h

    return lax.scan(step, (h, cell), x, reverse=reverse)[1]
"""
LOOPS: dict[str, tuple[str, ...]] = {"rnn_from": (RNN_FROM,), "lstm_from": (LSTM_FROM,)}


def _rnn(call: Call) -> str:
    activation = {"tanh": "jnp.tanh", "relu": "jax.nn.relu"}[call.attributes["activation"]]
    return f"rnn_from({', '.join(call.node.inputs)}, {activation}, {call.literal('reverse')})"


def _lstm(call: Call) -> str:
    return f"lstm_from({', '.join(call.node.inputs)}, {call.literal('clip')}, {call.literal('reverse')})"


RECURRENT: Mapping[str, Expression] = {"rnn_from": _rnn, "lstm_from": _lstm}
