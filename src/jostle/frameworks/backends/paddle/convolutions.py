"""How Paddle convolves."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression


def spatial_axes(call: Call) -> int:
    return call.type.rank - 2


def _conv(call: Call) -> str:
    pads = zip(call.attributes["before"], call.attributes["after"], strict=True)
    padding = [size for pair in pads for size in pair]
    settings = f"stride={call.literal('strides')}, padding={padding}, dilation={call.literal('dilations')}"
    inputs = ", ".join(call.node.inputs)
    return f"F.conv{spatial_axes(call)}d({inputs}, {settings}, groups={call.literal('groups')})"


def _conv_transpose(call: Call) -> str:
    names = (
        "stride=strides",
        "padding=padding",
        "output_padding=output_padding",
        "dilation=dilations",
        "groups=groups",
    )
    settings = ", ".join(f"{name.partition('=')[0]}={call.literal(name.partition('=')[2])}" for name in names)
    return f"F.conv{spatial_axes(call)}d_transpose({', '.join(call.node.inputs)}, {settings})"


CONVOLUTIONS: Mapping[str, Expression] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
}
