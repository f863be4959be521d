"""Functions that a program defines before its model, for what JAX has no function for."""

from __future__ import annotations

from collections.abc import Mapping

GRID_SAMPLE = """
def sample(x, down, across, mode):
    at = lambda image, *places: jax.scipy.ndimage.map_coordinates(image, places, order=1, mode=mode)
    return jax.vmap(jax.vmap(at, (0, None, None)))(x, down, across)
"""
RNN = """
def rnn(x, w, u, b, c):
    def step(h, x):
        h = jnp.tanh(w @ x + b + u @ h + c)
        return h, h

    return over_time(step, x, jnp.zeros(u.shape[1], x.dtype))
"""
LSTM = """
def lstm(x, w, u, b, c):
    def step(state, x):
        h, cell = state
        i, f, g, o = jnp.split(w @ x + b + u @ h + c, 4)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (h, cell), h

    zeros = jnp.zeros(u.shape[1], x.dtype)
    return over_time(step, x, (zeros, zeros))
"""
GRU = """
def gru(x, w, u, b, c):
    def step(h, x):
        (r, z, n), (r_h, z_h, n_h) = jnp.split(w @ x + b, 3), jnp.split(u @ h + c, 3)
        z = jax.nn.sigmoid(z + z_h)
        n = jnp.tanh(n + jax.nn.sigmoid(r + r_h) * n_h)
        h = (1 - z) * n + z * h
        return h, h

    return over_time(step, x, jnp.zeros(u.shape[1], x.dtype))
"""
OVER_TIME = """
def over_time(step, x, start):
    return jax.vmap(lambda x: lax.scan(step, start, x)[1], in_axes=1, out_axes=1)(x)
"""
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
DEFINITIONS: Mapping[str, tuple[str, ...]] = {
    "grid_sample": (GRID_SAMPLE,),
    "rnn": (OVER_TIME, RNN),
    "lstm": (OVER_TIME, LSTM),
    "gru": (OVER_TIME, GRU),
    "rnn_from": (RNN_FROM,),
    "lstm_from": (LSTM_FROM,),
}
