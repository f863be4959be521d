"""How ONNX pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher
from jostle.frameworks.backends.program import Unsupported


def _window(s: Sketch) -> dict[str, Any]:
    return {"kernel_shape": s.attributes["kernel"], "strides": s.attributes["strides"]}


def _max_pool(s: Sketch) -> str:
    pads, dilations = s.attributes["padding"] * 2, s.attributes["dilations"]
    return s.add("MaxPool", s[0], **_window(s), pads=pads, dilations=dilations, ceil_mode=s.attributes["ceil"])


def _avg_pool(s: Sketch) -> str:
    return s.add(
        "AveragePool",
        s[0],
        **_window(s),
        pads=s.attributes["padding"] * 2,
        ceil_mode=s.attributes["ceil"],
        count_include_pad=s.attributes["include_pad"],
    )


def _lp_pool(s: Sketch) -> str:
    return s.add("LpPool", s[0], **_window(s), p=s.attributes["p"])


def _adaptive(kind: str) -> Sketcher:
    """ONNX has windows of one size only."""

    def sketch(s: Sketch) -> str:
        sizes, wanted = s.x.shape[2:], s.attributes["size"]
        if all(size == 1 for size in wanted):
            return s.add(f"Global{kind}", s[0])
        if any(size % parts for size, parts in zip(sizes, wanted, strict=True)):
            raise Unsupported("has no pooling with windows of different sizes")
        kernel = [size // parts for size, parts in zip(sizes, wanted, strict=True)]
        return s.add(kind, s[0], kernel_shape=kernel, strides=kernel)

    return sketch


POOLING: Mapping[str, Sketcher] = {
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": _adaptive("AveragePool"),
    "adaptive_max_pool": _adaptive("MaxPool"),
}
