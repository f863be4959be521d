"""The operators of torch's own graphs that convolve, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, or_full, per_axis
from jostle.frameworks.importing.building import GraphBuilder


def _conv(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    """Also with padding by name; torch's "same" puts the odd one at the end."""
    axes, kernel = value.dim() - 2, builder.types[given["weight"]].shape[2:]
    dilations = per_axis(given["dilation"], axes)
    if given["padding"] == "same":
        total = [dilation * (size - 1) for dilation, size in zip(dilations, kernel, strict=True)]
        before, after = [size // 2 for size in total], [size - size // 2 for size in total]
    else:
        before = [0] * axes if given["padding"] == "valid" else per_axis(given["padding"], axes)
        after = list(before)
    bias = or_full(builder, given["bias"], value.shape[1:2], 0.0, value)
    settings = {"strides": per_axis(given["stride"], axes), "dilations": dilations, "groups": given["groups"]}
    return builder.node("conv", given["input"], given["weight"], bias, before=before, after=after, **settings)


def _conv_transpose(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    bias = or_full(builder, given["bias"], value.shape[1:2], 0.0, value)
    names = {"strides": "stride", "padding": "padding", "output_padding": "output_padding", "dilations": "dilation"}
    settings = {name: per_axis(given[source], value.dim() - 2) for name, source in names.items()}
    return builder.node("conv_transpose", given["input"], given["weight"], bias, groups=given["groups"], **settings)


CONVOLUTIONS: Mapping[str, Translation] = {
    **{f"conv{axes}d": _conv for axes in (1, 2, 3)},
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv_transpose),
}
