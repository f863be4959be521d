"""How ONNX reshapes, transposes and joins tensors, and goes by rows and columns."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native, with_list


def _reshape(s: Sketch) -> str:
    return s.add("Reshape", s[0], s.constant("shape", s.attributes["shape"]), allowzero=1)


def _stack(s: Sketch) -> str:
    axes = s.constant("axes", [s.attributes["axis"]])
    rows = [s.add("Unsqueeze", name, axes) for name in s.call.node.inputs]
    return s.add("Concat", *rows, axis=s.attributes["axis"])


def _triangle(upper: bool) -> Sketcher:
    return lambda s: s.add("Trilu", s[0], s.constant("k", s.attributes["diagonal"]), upper=upper)


def _depth_to_space(s: Sketch) -> str:
    return s.add("DepthToSpace", s[0], blocksize=s.attributes["block"], mode=s.attributes["mode"].upper())


SHAPING: Mapping[str, Sketcher] = {
    "reshape": _reshape,
    "transpose": lambda s: s.add("Transpose", s[0], perm=s.attributes["permutation"]),
    "squeeze": with_list("Squeeze", "axes"),
    "unsqueeze": with_list("Unsqueeze", "axes"),
    "expand": with_list("Expand", "shape"),
    "concat": native("Concat", "axis"),
    "stack": _stack,
    "tril": _triangle(upper=False),
    "triu": _triangle(upper=True),
    "depth_to_space": _depth_to_space,
    "space_to_depth": lambda s: s.add("SpaceToDepth", s[0], blocksize=s.attributes["block"]),
}
