"""How JAX combines the elements along axes, and puts them in order."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import over_axes
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import template, templates


def _cumsum(call: Call) -> str:
    axis, reverse = call.attributes["axis"], call.attributes["reverse"]
    summed = call[0]
    if call.attributes["exclusive"]:
        shifts = [(0, 0, 0)] * call.type.rank
        shifts[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
        summed = f"lax.pad({summed}, jnp.zeros((), {call.type.dtype!r}), {shifts})"
    return f"lax.cumsum({summed}, axis={axis}, reverse={reverse})"


def _topk_values(call: Call) -> str:
    axis, count = call.attributes["axis"], call.attributes["k"]
    if call.attributes["largest"]:
        return f"lax.top_k({call[0]}, {count}, axis={axis})[0]"
    return f"jnp.sort({call[0]}, axis={axis})[{':, ' * axis}:{count}]"


def _topk_indices(call: Call) -> str:
    axis, count = call.attributes["axis"], call.attributes["k"]
    if call.attributes["largest"]:
        return f'lax.top_k({call[0]}, {count}, axis={axis})[1].astype("int64")'
    return f"jnp.argsort({call[0]}, axis={axis})[{':, ' * axis}:{count}]"


REDUCTIONS: Mapping[str, Expression] = {
    **numpy_like.reductions("jnp", template),
    **templates(
        {
            "cumprod": "lax.cumprod({0}, axis={axis})",
            "cummax": "lax.cummax({0}, axis={axis})",
            "logcumsumexp": "lax.cumlogsumexp({0}, axis={axis})",
            "softmax": "jax.nn.softmax({0}, axis={axis})",
            "log_softmax": "jax.nn.log_softmax({0}, axis={axis})",
            "sort": "jnp.sort({0}, axis={axis}, descending={descending})",
        }
    ),
    "l1_norm": over_axes("jnp.linalg.vector_norm({0}, ord=1, {over})"),
    "l2_norm": over_axes("jnp.linalg.vector_norm({0}, ord=2, {over})"),
    "logsumexp": over_axes("jax.nn.logsumexp({0}, {over})"),
    "var": over_axes("jnp.var({0}, {over}, correction={correction})"),
    "std": over_axes("jnp.std({0}, {over}, correction={correction})"),
    "count_nonzero": over_axes("jnp.count_nonzero({0}, {over})"),
    "cumsum": _cumsum,
    "topk_values": _topk_values,
    "topk_indices": _topk_indices,
}
