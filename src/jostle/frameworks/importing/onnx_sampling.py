"""Our operators for those of ONNX that look between pixels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from jostle.frameworks.graph import Array
from jostle.frameworks.importing.onnx_reading import Counterpart, NoCounterpart, Read, Reading

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


SAMPLING: Mapping[str, Counterpart] = {
    "Resize": _resize,
    "GridSample": _grid_sample,
}
