"""Our operators for those of ONNX that pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jostle.frameworks.importing.onnx_convolutions import padding_of, per_axis
from jostle.frameworks.importing.onnx_reading import Counterpart, NoCounterpart, Read, Reading


def _pool(operator: str, filler: float) -> Counterpart:
    """Padding that ours does not take goes before, where that means the same."""

    def add(g: Reading, node: Read) -> Sequence[str]:
        node.only(storage_order=0)
        x, kernel = g.tensor(node.inputs[0]), list(node.attributes["kernel_shape"])
        strides, dilations = per_axis(node, "strides", len(kernel)), per_axis(node, "dilations", len(kernel))
        before, after = padding_of(node, g.type(x).shape[2:], kernel, strides, dilations)
        ceil, counted = bool(node.attributes.get("ceil_mode", 0)), bool(node.attributes.get("count_include_pad", 0))
        if before != after or any(2 * pad > width for pad, width in zip(before, kernel, strict=True)):
            if ceil or (operator == "avg_pool" and not counted):
                raise NoCounterpart(f"{node.kind} with different pads before and after")
            x = g.add("pad", x, mode="constant", before=[0, 0, *before], after=[0, 0, *after], value=filler)
            before = [0] * len(kernel)
        given: dict[str, Any] = {"kernel": kernel, "strides": strides, "padding": before, "ceil": ceil}
        return [g.add(operator, x, **given, **_of_kind(operator, node, dilations, counted))]

    return add


def _of_kind(operator: str, node: Read, dilations: list[int], counted: bool) -> dict[str, Any]:
    if operator == "max_pool":
        return {"dilations": dilations}
    node.only(dilations=[1] * len(dilations))
    return {"include_pad": counted}


def _lp_pool(g: Reading, node: Read) -> Sequence[str]:
    kernel = list(node.attributes["kernel_shape"])
    axes = len(kernel)
    node.only(auto_pad="NOTSET", pads=[0] * 2 * axes, dilations=[1] * axes, ceil_mode=0)
    given = {"kernel": kernel, "strides": per_axis(node, "strides", axes), "p": node.attributes.get("p", 2)}
    return [g.add("lp_pool", g.tensor(node.inputs[0]), **given)]


def _global(operator: str) -> Counterpart:
    def add(g: Reading, node: Read) -> Sequence[str]:
        x = g.tensor(node.inputs[0])
        return [g.add(operator, x, size=[1] * (g.type(x).rank - 2))]

    return add


POOLING: Mapping[str, Counterpart] = {
    "MaxPool": _pool("max_pool", -math.inf),
    "AveragePool": _pool("avg_pool", 0.0),
    "LpPool": _lp_pool,
    "GlobalAveragePool": _global("adaptive_avg_pool"),
    "GlobalMaxPool": _global("adaptive_max_pool"),
}
