"""How torch convolves."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill


def spatial(text: str) -> Expression:
    """{n} is the number of axes after batch and channels."""

    def expression(call: Call) -> str:
        return fill(text.replace("{n}", str(call.types[0].rank - 2)), call)

    return expression


def _conv(call: Call) -> str:
    """torch pads both ends of an axis alike; other padding is a step of its own."""
    before, after = call.attributes["before"], call.attributes["after"]
    x, padding = "{0}", "{before}"
    if before != after:
        sizes = [size for pair in zip(reversed(before), reversed(after), strict=True) for size in pair]
        x, padding = f"F.pad({{0}}, {sizes})", "0"
    settings = f"stride={{strides}}, padding={padding}, dilation={{dilations}}, groups={{groups}}"
    return spatial(f"F.conv{{n}}d({x}, {{1}}, {{2}}, {settings})")(call)


CONVOLUTIONS: Mapping[str, Expression] = {
    "conv": _conv,
    "conv_transpose": spatial(
        "F.conv_transpose{n}d({0}, {1}, {2}, stride={strides}, padding={padding}, "
        "output_padding={output_padding}, groups={groups}, dilation={dilations})"
    ),
}
