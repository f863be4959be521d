"""How JAX normalises."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import affine, all_axes_but, per_channel
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import templates


def standardized(array: str, axes: tuple[int, ...], call: Call) -> str:
    return f'jax.nn.standardize({array}, {axes}, epsilon={call.literal("epsilon")}, algorithm="stable")'


def _batch_norm(call: Call) -> str:
    mean, variance = (per_channel(call[place], call.type.rank) for place in (3, 4))
    axes = all_axes_but(call, 1)
    epsilon = call.literal("epsilon")
    return affine(call, f"jax.nn.standardize({call[0]}, {axes}, mean={mean}, variance={variance}, epsilon={epsilon})")


def _group_norm(call: Call) -> str:
    (batch, channels, *sizes), groups = call.type.shape, call.attributes["groups"]
    split = (batch, groups, channels // groups, *sizes)
    normal = standardized(f"{call[0]}.reshape({split})", tuple(range(2, len(split))), call)
    return affine(call, f"{normal}.reshape({call.type.shape})")


def neighbours_summed(call: Call, before: int, after: int) -> str:
    """The response to so many channels before and after each."""
    size, rest = call.attributes["size"], call.type.rank - 2
    window, strides = (1, size, *[1] * rest), (1,) * call.type.rank
    padding = [(0, 0), (before, after), *[(0, 0)] * rest]
    summed = f"lax.reduce_window(jnp.square({call[0]}), 0.0, lax.add, {window}, {strides}, {padding})"
    k, alpha, beta = (call.literal(name) for name in ("k", "alpha", "beta"))
    return f"{call[0]} / ({k} + {alpha} / {size} * {summed}) ** {beta}"


def _local_response_norm(call: Call) -> str:
    size = call.attributes["size"]
    return neighbours_summed(call, size // 2, (size - 1) // 2)


NORMALISATION: Mapping[str, Expression] = {
    **numpy_like.normalisation(standardized),
    **templates(
        {
            "rms_norm": "{0} * lax.rsqrt(jnp.mean(jnp.square({0}), axis=-1, keepdims=True) + {epsilon}) * {1}",
            "l2_normalize": "{0} / jnp.maximum(jnp.linalg.norm({0}, axis={axis}, keepdims=True), {epsilon})",
        }
    ),
    "batch_norm": _batch_norm,
    "group_norm": _group_norm,
    "local_response_norm": _local_response_norm,
}
