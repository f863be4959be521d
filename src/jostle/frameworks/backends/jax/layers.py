"""How JAX computes products with matrices, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import template, templates


def _attention(call: Call) -> str:
    causal = call.attributes["causal"]
    if call.types[1].shape == call.types[2].shape:
        query, key, value = (f"{name}[:, :, None]" for name in call.node.inputs)
        return f"jax.nn.dot_product_attention({query}, {key}, {value}, is_causal={causal})[:, :, 0]"
    (_, length, width), keys = call.types[0].shape, call.types[1].shape[1]
    scores = f"jnp.matmul({call[0]}, {call[1]}.mT) / {width}**0.5"
    where = f", where=jnp.tri({length}, {keys}, dtype=bool)" if causal else ""
    return f"jnp.matmul(jax.nn.softmax({scores}{where}), {call[2]})"


LAYERS: Mapping[str, Expression] = {
    **numpy_like.layers("jnp", template),
    **templates(
        {
            "rnn": "rnn({0}, {1}, {2}, {3}, {4})",
            "lstm": "lstm({0}, {1}, {2}, {3}, {4})",
            "gru": "gru({0}, {1}, {2}, {3}, {4})",
        }
    ),
    "attention": _attention,
}
