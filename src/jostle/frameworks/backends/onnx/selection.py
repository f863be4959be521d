"""How ONNX picks, fills and adds up elements by positions."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native

REDUCE = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax"}


def _masked_fill(s: Sketch) -> str:
    return s.add("Where", s[1], s.constant("value", s.attributes["value"], s.x.dtype), s[0])


def _embedding_bag(s: Sketch) -> str:
    rows = s.add("Gather", s[0], s[1], axis=0)
    return s.add(REDUCE[s.attributes["mode"]], rows, s.constant("bag", [1]), keepdims=0)


def _segment_sum(s: Sketch) -> str:
    """Added to zeros."""
    zero = 0.0 if s.x.is_float else 0
    shape = s.constant("shape", list(s.call.type.shape))
    zeros = s.add("Expand", s.constant("zero", zero, s.x.dtype), shape)
    rows = s.add("Unsqueeze", s[1], s.constant("last", [1]))
    return s.add("ScatterND", zeros, rows, s[0], reduction="add")


def _repeat_interleave(s: Sketch) -> str:
    axis, times = s.attributes["axis"], s.attributes["times"]
    places = [place for place in range(s.x.shape[axis]) for _ in range(times)]
    return s.add("Gather", s[0], s.constant("places", places), axis=axis)


def _movedim(s: Sketch) -> str:
    order = [axis for axis in range(s.x.rank) if axis != s.attributes["source"]]
    order.insert(s.attributes["target"], s.attributes["source"])
    return s.add("Transpose", s[0], perm=order)


SELECTION: Mapping[str, Sketcher] = {
    "masked_fill": _masked_fill,
    "gather_nd": native("GatherND"),
    "scatter_nd_add": native("ScatterND", reduction="add"),
    "segment_sum": _segment_sum,
    "embedding_bag": _embedding_bag,
    "reverse_sequence": native("ReverseSequence", time_axis=1, batch_axis=0),
    "repeat_interleave": _repeat_interleave,
    "movedim": _movedim,
}
