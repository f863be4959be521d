"""How Paddle pools."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.paddle.convolutions import spatial_axes
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import template


def _pool(function: str, more: str = "") -> Expression:
    def expression(call: Call) -> str:
        _check_windows(call)
        settings = "kernel_size={kernel}, stride={strides}, padding={padding}, ceil_mode={ceil}"
        return template(f"F.{function}{spatial_axes(call)}d({{0}}, {settings}{more})")(call)

    return expression


def _check_windows(call: Call) -> None:
    """Paddle documents no dilation, and with ceil also windows that start beyond the image."""
    attributes = call.attributes
    if max(attributes.get("dilations", [1])) > 1:
        raise Unsupported("has no pooling with dilations")
    sizes = (call.types[0].shape[2:], call.type.shape[2:], *(attributes[n] for n in ("kernel", "strides", "padding")))
    for size, out, kernel, stride, pad in zip(*sizes, strict=True):
        if attributes["ceil"] and out != -(-(size + 2 * pad - kernel) // stride) + 1:
            raise Unsupported("has windows that start beyond the image")


def _avg_pool(call: Call) -> str:
    return _pool("avg_pool", f", exclusive={not call.attributes['include_pad']}")(call)


def _lp_pool(call: Call) -> str:
    """Paddle documents powers of x, not of |x|."""
    if spatial_axes(call) == 3 or call.attributes["p"] % 2:
        raise Unsupported("has no pooling by odd powers or over three axes")
    settings = "{0}, {p}, kernel_size={kernel}, stride={strides}"
    return template(f"F.lp_pool{spatial_axes(call)}d({settings})")(call)


def _adaptive(function: str) -> Expression:
    def expression(call: Call) -> str:
        size = call.attributes["size"]
        return f"F.{function}{spatial_axes(call)}d({call[0]}, {size[0] if len(size) == 1 else size})"

    return expression


POOLING: Mapping[str, Expression] = {
    "max_pool": _pool("max_pool"),
    "avg_pool": _avg_pool,
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": _adaptive("adaptive_avg_pool"),
    "adaptive_max_pool": _adaptive("adaptive_max_pool"),
}
