"""How ONNX looks between pixels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher
from jostle.frameworks.backends.program import Unsupported

RESIZE: Mapping[str, Mapping[str, Any]] = {
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "nearest_exact": {
        "mode": "nearest",
        "coordinate_transformation_mode": "half_pixel",
        "nearest_mode": "round_prefer_ceil",
    },
    "linear": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    "linear_align_corners": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    "cubic": {"mode": "cubic", "coordinate_transformation_mode": "half_pixel"},
    "cubic_align_corners": {"mode": "cubic", "coordinate_transformation_mode": "align_corners"},
}


def _resize(s: Sketch) -> str:
    sizes = s.constant("sizes", [*s.x.shape[:2], *s.attributes["size"]])
    return s.add("Resize", s[0], "", "", sizes, **RESIZE[s.attributes["mode"]])


SAMPLED = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}


def _grid_sample(s: Sketch) -> str:
    given = {"padding_mode": s.attributes["padding"], "align_corners": s.attributes["align_corners"]}
    return s.add("GridSample", s[0], s[1], mode=SAMPLED[s.attributes["mode"]], **given)


def _antialiased(s: Sketch) -> str:
    """ONNX leaves out what lies beyond the edges only where it is told to."""
    sizes = s.constant("sizes", [*s.x.shape[:2], *s.attributes["size"]])
    cubic = {"cubic_coeff_a": -0.5} if s.attributes["mode"] == "cubic" else {}
    given = {"mode": s.attributes["mode"], "exclude_outside": 1, "antialias": 1}
    return s.add("Resize", s[0], "", "", sizes, **given, **cubic)


def _affine_grid(s: Sketch) -> str:
    batch, height, width, _ = s.call.type.shape
    if s.attributes["align_corners"] and 1 in (height, width):
        raise Unsupported("divides by 0 between the corners of one pixel")
    size = s.constant("size", [batch, 1, height, width])
    return s.add("AffineGrid", s[0], size, align_corners=s.attributes["align_corners"])


SAMPLING: Mapping[str, Sketcher] = {
    "resize": _resize,
    "resize_antialias": _antialiased,
    "affine_grid": _affine_grid,
    "grid_sample": _grid_sample,
}
