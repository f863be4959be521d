"""How Paddle gives what windows see."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.paddle.convolutions import spatial_axes
from jostle.frameworks.backends.paddle.indexing import WIDE_OR_BOOL
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import fill, on, template, templates


def _sum_pool(call: Call) -> str:
    settings = "{kernel}, {strides}, padding={padding}, divisor_override={divisor}"
    return fill(f"F.avg_pool{spatial_axes(call)}d({{0}}, {settings})", call)


def _max_pool_indices(call: Call) -> str:
    if call.attributes["by_columns"]:
        raise Unsupported("counts pixels by rows")
    settings = "{kernel}, {strides}, padding={padding}, return_mask=True"
    found = fill(f"F.max_pool{spatial_axes(call)}d({{0}}, {settings})[1]", call)
    return f'paddle.cast({found}, "int64")'


def _max_unpool(call: Call) -> str:
    if call.types[0].shape != call.type.shape:
        raise Unsupported("has windows that cover the image")
    axes = spatial_axes(call)
    pooled = f"F.max_pool{axes}d({{0}}, {{kernel}}, return_mask=True)"
    return fill(f"F.max_unpool{axes}d(*{pooled}, {{kernel}})", call)


WINDOWS: Mapping[str, Expression] = {
    **templates({"im2col": "F.unfold({0}, {kernel}, {strides}, {padding}, {dilations})"}),
    "sliding_window": on(WIDE_OR_BOOL, template("paddle.unfold({0}, {axis}, {size}, {step})")),
    "sum_pool": _sum_pool,
    "max_pool_indices": _max_pool_indices,
    "max_unpool": _max_unpool,
}
