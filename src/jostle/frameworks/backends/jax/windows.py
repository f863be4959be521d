"""How JAX gives what windows see."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill


def _sliding_window(call: Call) -> str:
    axis, count = call.attributes["axis"], call.type.shape[call.attributes["axis"]]
    size, step = call.attributes["size"], call.attributes["step"]
    places = f"jnp.arange({count})[:, None] * {step} + jnp.arange({size})"
    return f"jnp.moveaxis(jnp.take({call[0]}, {places}, axis={axis}), {axis + 1}, -1)"


def _im2col(call: Call) -> str:
    padding = [(size, size) for size in call.attributes["padding"]]
    settings = f"{{kernel}}, {{strides}}, {padding}, rhs_dilation={{dilations}}"
    return fill(f"lax.conv_general_dilated_patches({{0}}, {settings}).reshape({call.type.shape})", call)


def _sum_pool(call: Call) -> str:
    window, strides = ((1, 1, *call.attributes[name]) for name in ("kernel", "strides"))
    padding = [(0, 0), (0, 0), *((size, size) for size in call.attributes["padding"])]
    return fill(f"lax.reduce_window({{0}}, 0.0, lax.add, {window}, {strides}, {padding}) / {{divisor}}", call)


WINDOWS: Mapping[str, Expression] = {
    "sliding_window": _sliding_window,
    "im2col": _im2col,
    "sum_pool": _sum_pool,
}
