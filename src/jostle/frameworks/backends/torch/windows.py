"""How torch gives what windows see."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import templates
from jostle.frameworks.backends.torch.convolutions import spatial


def _max_pool_indices(call: Call) -> str:
    if call.attributes["by_columns"]:
        raise Unsupported("counts pixels by rows")
    settings = "{kernel}, {strides}, padding={padding}, return_indices=True"
    return spatial(f"F.max_pool{{n}}d({{0}}, {settings})[1]")(call)


def _max_unpool(call: Call) -> str:
    """Beyond the last window, an image may have more pixels."""
    whole = call.types[0].shape == call.type.shape
    sizes = ", ".join(f":{size}" for size in call.type.shape[2:])
    x = call[0] if whole else f"{call[0]}[..., {sizes}]"
    text = "F.max_unpool{n}d(*F.max_pool{n}d(" + x + ", {kernel}, return_indices=True), {kernel})"
    return spatial(text)(call)


WINDOWS: Mapping[str, Expression] = {
    **templates(
        {
            "sliding_window": "{0}.unfold({axis}, {size}, {step})",
            "im2col": "F.unfold({0}, {kernel}, dilation={dilations}, padding={padding}, stride={strides})",
        }
    ),
    "sum_pool": spatial("F.avg_pool{n}d({0}, {kernel}, {strides}, padding={padding}, divisor_override={divisor})"),
    "max_pool_indices": _max_pool_indices,
    "max_unpool": _max_unpool,
}
