"""Our operators for those of ONNX that convolve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jostle.frameworks.importing.onnx_reading import Counterpart, NoCounterpart, Read, Reading


def _conv(g: Reading, node: Read) -> Sequence[str]:
    x, weight = g.tensor(node.inputs[0]), g.tensor(node.inputs[1])
    sizes, kernel = g.type(x).shape[2:], g.type(weight).shape[2:]
    strides, dilations = per_axis(node, "strides", len(sizes)), per_axis(node, "dilations", len(sizes))
    before, after = padding_of(node, sizes, kernel, strides, dilations)
    bias = _bias(g, node, g.type(weight).shape[0])
    given = {"strides": strides, "dilations": dilations, "groups": node.attributes.get("group", 1)}
    return [g.add("conv", x, weight, bias, before=before, after=after, **given)]


def _bias(g: Reading, node: Read, channels: int) -> str:
    if node.has(2):
        return g.tensor(node.inputs[2])
    return g.constant(np.zeros(channels, g.type(g.tensor(node.inputs[0])).dtype), "bias")


def per_axis(node: Read, name: str, axes: int, usual: int = 1) -> list[int]:
    return list(node.attributes.get(name, [usual] * axes))


def padding_of(
    node: Read, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Before and after each axis, as given or as much as keeps ⌈size / stride⌉ windows."""
    auto, axes = node.attributes.get("auto_pad", "NOTSET"), len(sizes)
    if auto in ("NOTSET", "VALID"):
        pads = per_axis(node, "pads", 2 * axes, 0) if auto == "NOTSET" else [0] * 2 * axes
        return pads[:axes], pads[axes:]
    all_pads = [
        max((-(-size // stride) - 1) * stride + (width - 1) * dilation + 1 - size, 0)
        for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True)
    ]
    less, more = [pad // 2 for pad in all_pads], [-(-pad // 2) for pad in all_pads]
    return (less, more) if auto == "SAME_UPPER" else (more, less)


def _conv_transpose(g: Reading, node: Read) -> Sequence[str]:
    node.only(auto_pad="NOTSET", output_shape=[])
    x, weight = g.tensor(node.inputs[0]), g.tensor(node.inputs[1])
    axes, groups = g.type(x).rank - 2, node.attributes.get("group", 1)
    pads = per_axis(node, "pads", 2 * axes, 0)
    if pads[:axes] != pads[axes:]:
        raise NoCounterpart("ConvTranspose with different pads before and after")
    given = {
        "strides": per_axis(node, "strides", axes),
        "padding": pads[:axes],
        "output_padding": per_axis(node, "output_padding", axes, 0),
        "dilations": per_axis(node, "dilations", axes),
        "groups": groups,
    }
    return [g.add("conv_transpose", x, weight, _bias(g, node, g.type(weight).shape[1] * groups), **given)]


CONVOLUTIONS: Mapping[str, Counterpart] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
}
