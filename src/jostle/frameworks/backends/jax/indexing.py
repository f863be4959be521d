"""How JAX moves elements along axes, and goes by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import PAD_MODES, of_axes, scattered_places
from jostle.frameworks.backends.program import Call, Expression, literal
from jostle.frameworks.backends.templates import template

COMBINE = {"add": "add", "mul": "multiply", "max": "max", "min": "min"}


def _pad(call: Call) -> str:
    widths = list(zip(call.attributes["before"], call.attributes["after"], strict=True))
    if call.attributes["mode"] != "constant":
        return f"jnp.pad({call[0]}, {widths}, mode={PAD_MODES[call.attributes['mode']]!r})"
    value = literal(call.attributes["value"] if call.type.is_float else int(call.attributes["value"]))
    if min(map(min, widths)) >= 0:
        return f"jnp.pad({call[0]}, {widths}, constant_values={value})"
    config = [(low, high, 0) for low, high in widths]
    return f"lax.pad({call[0]}, jnp.array({value}, {call.type.dtype!r}), {config})"


def _scatter(call: Call) -> str:
    combined = COMBINE[call.attributes["reduction"]]
    return f"{call[0]}.at[{scattered_places(call, 'jnp')}].{combined}({call[2]})"


INDEXING: Mapping[str, Expression] = {
    **numpy_like.indexing("jnp", template),
    "one_hot": template('jax.nn.one_hot({0}, {depth}, dtype="float32")'),
    "flip": of_axes("jnp.flip({0}, axis={axes})"),
    "pad": _pad,
    "scatter": _scatter,
}
