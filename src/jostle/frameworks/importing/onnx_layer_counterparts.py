"""Our operators for those of ONNX that have weights or look at neighbourhoods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jostle.frameworks.graph import Array
from jostle.frameworks.importing.onnx_counterparts import Counterpart
from jostle.frameworks.importing.onnx_reading import NoCounterpart, Read, Reading, axis_of


def _gemm(g: Reading, node: Read) -> Sequence[str]:
    a, b = (g.tensor(name) for name in node.inputs[:2])
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
    a = g.add("transpose", a, permutation=[1, 0]) if node.attributes.get("transA", 0) else a
    if node.has(2) and alpha == beta == 1 and node.attributes.get("transB", 0):
        bias = g.tensor(node.inputs[2])
        if g.type(bias).shape == g.type(b).shape[:1]:
            return [g.add("linear", a, b, bias)]
    b = g.add("transpose", b, permutation=[1, 0]) if node.attributes.get("transB", 0) else b
    product = _times(g, g.add("matmul", a, b), alpha)
    return [g.add("add", product, _times(g, g.tensor(node.inputs[2]), beta)) if node.has(2) else product]


def _times(g: Reading, x: str, factor: float) -> str:
    return x if factor == 1 else g.add("mul", x, g.number(factor, x))


def _bias(g: Reading, node: Read, channels: int) -> str:
    if node.has(2):
        return g.tensor(node.inputs[2])
    return g.constant(np.zeros(channels, g.type(g.tensor(node.inputs[0])).dtype), "bias")


def _conv(g: Reading, node: Read) -> Sequence[str]:
    x, weight = g.tensor(node.inputs[0]), g.tensor(node.inputs[1])
    sizes, kernel = g.type(x).shape[2:], g.type(weight).shape[2:]
    strides, dilations = _per_axis(node, "strides", len(sizes)), _per_axis(node, "dilations", len(sizes))
    before, after = _padding(node, sizes, kernel, strides, dilations)
    bias = _bias(g, node, g.type(weight).shape[0])
    given = {"strides": strides, "dilations": dilations, "groups": node.attributes.get("group", 1)}
    return [g.add("conv", x, weight, bias, before=before, after=after, **given)]


def _per_axis(node: Read, name: str, axes: int, usual: int = 1) -> list[int]:
    return list(node.attributes.get(name, [usual] * axes))


def _padding(
    node: Read, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Before and after each axis, as given or as much as keeps ⌈size / stride⌉ windows."""
    auto, axes = node.attributes.get("auto_pad", "NOTSET"), len(sizes)
    if auto in ("NOTSET", "VALID"):
        pads = _per_axis(node, "pads", 2 * axes, 0) if auto == "NOTSET" else [0] * 2 * axes
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
    pads = _per_axis(node, "pads", 2 * axes, 0)
    if pads[:axes] != pads[axes:]:
        raise NoCounterpart("ConvTranspose with different pads before and after")
    given = {
        "strides": _per_axis(node, "strides", axes),
        "padding": pads[:axes],
        "output_padding": _per_axis(node, "output_padding", axes, 0),
        "dilations": _per_axis(node, "dilations", axes),
        "groups": groups,
    }
    return [g.add("conv_transpose", x, weight, _bias(g, node, g.type(weight).shape[1] * groups), **given)]


def _pool(operator: str, filler: float) -> Counterpart:
    """Padding that ours does not take goes before, where that means the same."""

    def add(g: Reading, node: Read) -> Sequence[str]:
        node.only(storage_order=0)
        x, kernel = g.tensor(node.inputs[0]), list(node.attributes["kernel_shape"])
        strides, dilations = _per_axis(node, "strides", len(kernel)), _per_axis(node, "dilations", len(kernel))
        before, after = _padding(node, g.type(x).shape[2:], kernel, strides, dilations)
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
    given = {"kernel": kernel, "strides": _per_axis(node, "strides", axes), "p": node.attributes.get("p", 2)}
    return [g.add("lp_pool", g.tensor(node.inputs[0]), **given)]


def _global(operator: str) -> Counterpart:
    def add(g: Reading, node: Read) -> Sequence[str]:
        x = g.tensor(node.inputs[0])
        return [g.add(operator, x, size=[1] * (g.type(x).rank - 2))]

    return add


def _epsilon(node: Read) -> float:
    return float(node.attributes.get("epsilon", 1e-5))


def _batch_norm(g: Reading, node: Read) -> Sequence[str]:
    node.only(training_mode=0, spatial=1)
    return [g.add("batch_norm", *map(g.tensor, node.inputs), epsilon=_epsilon(node))]


def _instance_norm(g: Reading, node: Read) -> Sequence[str]:
    return [g.add("instance_norm", *map(g.tensor, node.inputs), epsilon=_epsilon(node))]


def _group_norm(g: Reading, node: Read) -> Sequence[str]:
    if node.opset < 21:
        raise NoCounterpart(f"GroupNormalization of opset {node.opset}")
    groups = node.attributes["num_groups"]
    return [g.add("group_norm", *map(g.tensor, node.inputs), groups=groups, epsilon=_epsilon(node))]


def _layer_norm(g: Reading, node: Read) -> Sequence[str]:
    x, scale = g.tensor(node.inputs[0]), g.tensor(node.inputs[1])
    axis = axis_of(node.attributes.get("axis", -1), g.type(x).rank)
    zeros = np.zeros(g.type(scale).shape, g.type(scale).dtype)
    bias = g.tensor(node.inputs[2]) if node.has(2) else g.constant(zeros, "bias")
    return [g.add("layer_norm", x, scale, bias, axis=axis, epsilon=_epsilon(node))]


def _rms_norm(g: Reading, node: Read) -> Sequence[str]:
    node.only(axis=-1)
    return [g.add("rms_norm", *map(g.tensor, node.inputs), epsilon=_epsilon(node))]


def _lrn(g: Reading, node: Read) -> Sequence[str]:
    size = node.attributes["size"]
    if size % 2 == 0:
        raise NoCounterpart("LRN with an even size")
    usual = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    alpha, beta, k = (float(node.attributes.get(name, value)) for name, value in usual.items())
    return [g.add("local_response_norm", g.tensor(node.inputs[0]), size=size, alpha=alpha, beta=beta, k=k)]


def _prelu(g: Reading, node: Read) -> Sequence[str]:
    """Slopes of one number are repeated for every channel."""
    x, slopes = g.tensor(node.inputs[0]), g.known(node, 1)
    shape = g.type(x).shape
    per_channel = (shape[1], *[1] * (len(shape) - 2))
    if slopes.size != 1 and slopes.shape != per_channel:
        raise NoCounterpart("PRelu with slopes that are not per channel")
    return [g.add("prelu", x, g.constant(np.broadcast_to(slopes.ravel(), per_channel[:1]).copy(), node.inputs[1]))]


RESIZED = {
    ("nearest", "asymmetric", "floor"): "nearest",
    ("nearest", "half_pixel", "round_prefer_ceil"): "nearest_exact",
    ("linear", "half_pixel"): "linear",
    ("linear", "align_corners"): "linear_align_corners",
    ("cubic", "half_pixel"): "cubic",
    ("cubic", "align_corners"): "cubic_align_corners",
}


def _resize(g: Reading, node: Read) -> Sequence[str]:
    node.only(antialias=0, exclude_outside=0, cubic_coeff_a=-0.75, keep_aspect_ratio_policy="stretch", axes=[])
    x = g.tensor(node.inputs[0])
    shape, kind = g.type(x).shape, node.attributes.get("mode", "nearest")
    where = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    rounded = node.attributes.get("nearest_mode", "round_prefer_floor")
    sizes = g.whole(node, 3) if node.has(3) else _scaled(g.known(node, 2), shape)
    # torch writes pytorch_half_pixel, which differs where one pixel is left
    where = "half_pixel" if where == "pytorch_half_pixel" and 1 not in sizes[2:] else where
    mode = RESIZED.get((kind, where, rounded) if kind == "nearest" else (kind, where))
    if mode is None or sizes[:2] != list(shape[:2]):
        raise NoCounterpart(f"Resize with mode={kind}, {where}, {rounded}")
    return [g.add("resize", x, size=sizes[2:], mode=mode)]


def _scaled(scales: Array, shape: Sequence[int]) -> list[int]:
    """Only where the scale is that of the sizes, for else positions differ."""
    sizes = [math.floor(size * scale) for size, scale in zip(shape, scales.tolist(), strict=True)]
    if any(size * scale != new for size, scale, new in zip(shape, scales.tolist(), sizes, strict=True)):
        raise NoCounterpart("Resize with scales that leave parts of pixels")
    return sizes


SAMPLED = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic", "bicubic": "bicubic"}


def _grid_sample(g: Reading, node: Read) -> Sequence[str]:
    mode, padding = SAMPLED[node.attributes.get("mode", "linear")], node.attributes.get("padding_mode", "zeros")
    align_corners = bool(node.attributes.get("align_corners", 0))
    return [g.add("grid_sample", *map(g.tensor, node.inputs), mode=mode, padding=padding, align_corners=align_corners)]


def _attention(g: Reading, node: Read) -> Sequence[str]:
    """One head without a mask, on [batch, length, width]."""
    node.without(3, 4, 5, 6)
    node.only(q_num_heads=1, kv_num_heads=1, softcap=0.0, qk_matmul_output_mode=0)
    if "scale" in node.attributes:
        raise NoCounterpart("Attention with scale")
    return [g.add("attention", *map(g.tensor, node.inputs[:3]), causal=bool(node.attributes.get("is_causal", 0)))]


def _recurrent(operator: str, order: Sequence[int], **needed: Any) -> Counterpart:
    """`order`: which gate of ONNX stands where with us."""

    def add(g: Reading, node: Read) -> Sequence[str]:
        node.only(direction="forward", layout=0, activations=[], clip=0.0, input_forget=0)
        if any(node.attributes.get(name, 0) != value for name, value in needed.items()):
            raise NoCounterpart(f"{node.kind} without {', '.join(f'{name}={value}' for name, value in needed.items())}")
        _refuse_states(g, node)
        x, weights = g.tensor(node.inputs[0]), [g.known(node, place)[0] for place in (1, 2)]
        hidden = weights[1].shape[1]
        biases = g.known(node, 3)[0] if node.has(3) else np.zeros(2 * len(order) * hidden, weights[0].dtype)
        parts = [*weights, *np.split(biases, 2)]
        rows = [gate * hidden + row for gate in order for row in range(hidden)]
        states = g.add(operator, x, *(g.constant(part[rows], operator) for part in parts))
        return _states(g, states)[: len(node.outputs)]

    return add


def _refuse_states(g: Reading, node: Read) -> None:
    """States at the start must be zeros; lengths, peepholes and the cell's last state are not ours."""
    node.without(4, 7)
    for place in (5, 6):
        if node.has(place) and g.known(node, place).any():
            raise NoCounterpart(f"{node.kind} with an initial state")
    if len(node.outputs) > 2 and node.outputs[2]:
        raise NoCounterpart(f"{node.kind} with output Y_c")


def _states(g: Reading, states: str) -> list[str]:
    """[time, 1, batch, hidden], and the last of them."""
    time, batch, hidden = g.type(states).shape
    last = g.add("slice", states, starts=[time - 1, 0, 0], sizes=[1, batch, hidden], steps=[1, 1, 1])
    return [g.add("unsqueeze", states, axes=[1]), last]


LAYERED: Mapping[str, Counterpart] = {
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _pool("max_pool", -math.inf),
    "AveragePool": _pool("avg_pool", 0.0),
    "GlobalAveragePool": _global("adaptive_avg_pool"),
    "GlobalMaxPool": _global("adaptive_max_pool"),
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": _rms_norm,
    "LpPool": _lp_pool,
    "GridSample": _grid_sample,
    "Attention": _attention,
    "LRN": _lrn,
    "PRelu": _prelu,
    "Resize": _resize,
    "RNN": _recurrent("rnn", (0,)),
    "LSTM": _recurrent("lstm", (0, 2, 3, 1)),
    "GRU": _recurrent("gru", (1, 0, 2), linear_before_reset=1),
}
