"""How JAX computes operators that treat every element alone."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import per_channel
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import named, template, templates


def _prelu(call: Call) -> str:
    return f"jax.nn.leaky_relu({call[0]}, {per_channel(call[1], call.type.rank)})"


ELEMENTWISE: Mapping[str, Expression] = {
    **named(
        "jnp.",
        "neg=negative square asin acos atan asinh acosh atanh round logical_not bitwise_not add sub=subtract "
        "mul=multiply div=divide pow=power atan2 floor_divide remainder fmod equal not_equal less less_equal "
        "greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
        "left_shift right_shift",
    ),
    **named(
        "jax.nn.",
        "relu relu6 selu sigmoid log_sigmoid softplus softsign=soft_sign hardsigmoid=hard_sigmoid "
        "hardswish=hard_swish silu mish",
    ),
    **named("lax.", "rsqrt erf"),
    **numpy_like.elementwise("jnp", template),
    **templates(
        {
            "leaky_relu": "jax.nn.leaky_relu({0}, {alpha})",
            "elu": "jax.nn.elu({0}, {alpha})",
            "celu": "jax.nn.celu({0}, {alpha})",
            "gelu": "jax.nn.gelu({0}, approximate=False)",
            "gelu_tanh": "jax.nn.gelu({0}, approximate=True)",
            "hardshrink": "jnp.where(jnp.abs({0}) > {threshold}, {0}, 0)",
            "softshrink": "jnp.sign({0}) * jnp.maximum(jnp.abs({0}) - {threshold}, 0)",
            "cast": "{0}.astype({to})",
            "glu": "jax.nn.glu({0}, axis={axis})",
            "dropout": "{0} * {1} / (1 - {rate})",
        }
    ),
    "prelu": _prelu,
}
