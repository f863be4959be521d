"""How JAX computes activations that only some frameworks have."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import templates

SPLIT = "(lambda first_half, second_half: {gated})(*jnp.split({{0}}, 2, axis={{axis}}))"

ACTIVATIONS: Mapping[str, Expression] = templates(
    {
        "threshold": "jnp.where({0} > {threshold}, {0}, {value})",
        "thresholded_relu": "jnp.where({0} > {alpha}, {0}, 0)",
        "hardtanh": "jnp.clip({0}, {low}, {high})",
        "hardsigmoid_slope": "jnp.clip({slope} * {0} + 0.5, 0, 1)",
        "tanhshrink": "{0} - jnp.tanh({0})",
        "quick_gelu": "{0} * jax.nn.sigmoid(1.702 * {0})",
        "swish": "{0} * jax.nn.sigmoid({beta} * {0})",
        "squared_relu": "jnp.square(jax.nn.relu({0}))",
        "squareplus": "jax.nn.squareplus({0}, {beta})",
        "sparse_plus": "jax.nn.sparse_plus({0})",
        "scaled_tanh": "{alpha} * jnp.tanh({beta} * {0})",
        "softplus_beta": "jax.nn.softplus({beta} * {0}) / {beta}",
        "softmin": "jax.nn.softmax(-{0}, axis={axis})",
        "swiglu": SPLIT.format(gated="jax.nn.silu(first_half) * second_half"),
        "geglu": SPLIT.format(gated="first_half * jax.nn.gelu(second_half, approximate=False)"),
        "reglu": SPLIT.format(gated="first_half * jax.nn.relu(second_half)"),
        "crelu": "jnp.concatenate([jax.nn.relu({0}), jax.nn.relu(-{0})], axis={axis})",
    }
)
