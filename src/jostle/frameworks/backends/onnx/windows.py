"""How ONNX gives what windows see."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher
from jostle.frameworks.backends.program import Unsupported


def _sliding_window(s: Sketch) -> str:
    axis, size, step = (s.attributes[name] for name in ("axis", "size", "step"))
    starts = range(0, s.call.type.shape[axis] * step, step)
    places = s.constant("places", [[start + tap for tap in range(size)] for start in starts])
    seen = s.add("Gather", s[0], places, axis=axis)
    order = [at for at in range(s.x.rank + 1) if at != axis + 1]
    return s.add("Transpose", seen, perm=[*order, axis + 1])


def _pooled(s: Sketch, name: str, **more: Any) -> tuple[str, str]:
    """The largest of each window, and where it lies in the whole tensor."""
    values, places = s.add_with_outputs("MaxPool", 2, name, kernel_shape=s.attributes["kernel"], **more)
    return values, places


def _max_pool_indices(s: Sketch) -> str:
    """ONNX counts through the whole tensor, here of one image after the other."""
    given = {"strides": s.attributes["strides"], "pads": s.attributes["padding"] * 2}
    order = {"storage_order": 1} if s.attributes["by_columns"] else {}
    found = _pooled(s, s[0], **given, **order)[1]
    return s.add("Mod", found, s.constant("pixels", prod(s.x.shape[2:])))


def _max_unpool(s: Sketch) -> str:
    kernel = s.attributes["kernel"]
    if s.x.shape != s.call.type.shape:
        raise Unsupported("has windows that cover the image")
    values, places = _pooled(s, s[0], strides=kernel)
    return s.add("MaxUnpool", values, places, kernel_shape=kernel, strides=kernel)


WINDOWS: Mapping[str, Sketcher] = {
    "sliding_window": _sliding_window,
    "max_pool_indices": _max_pool_indices,
    "max_unpool": _max_unpool,
}
