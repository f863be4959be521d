"""What those who run ONNX models say that they do not compute."""

from __future__ import annotations

import numpy as np

from jostle.frameworks.backends.program import Call, Unsupported, calls
from jostle.frameworks.graph import Graph

# Whose results in whole numbers may be large, or which wrap around where they are.
GROWING = {"add", "sub", "mul", "square", "neg", "abs", "sum", "prod", "cumsum", "cumprod", "scatter", "cast"}


def refuse_onnxruntime(graph: Graph) -> None:
    """Kernels that exist, but say so in words only when they run."""
    for call in calls(graph):
        operator, first = call.node.operator, call.types[0]
        if operator in ("lstm", "gru", "lstm_from", "gru_from", "lstm_peephole") and first.dtype == "float64":
            raise Unsupported(f"has no {operator} of float64")
        if operator in ("local_response_norm", "local_response_norm_after") and first.rank != 4:
            raise Unsupported("has LRN of rank 4 only")
        if operator in ("all", "any") and any(first.shape[axis] == 0 for axis in call.attributes["axes"]):
            raise Unsupported("has no ReduceMin and ReduceMax of bool over nothing")


def refuse_openvino(graph: Graph) -> None:
    """Its CPU plugin computes float64 in float32 and int64 in int32, as its documentation says."""
    for leaf in graph.leaves.values():
        if leaf.type.dtype == "int64" and np.any(leaf.array != leaf.array.astype(np.int32)):
            raise Unsupported("computes int64 in int32")
    for call in calls(graph):
        if "float64" in {call.type.dtype, *(one.dtype for one in call.types)}:
            raise Unsupported("computes float64 in float32")
        if _may_overflow(call):
            raise Unsupported("computes int64 in int32")
        if call.node.operator in ("cumprod", "det") or call.attributes.get("mode") == "circular":
            raise Unsupported(f"has no {call.node.operator} of this kind")


def _may_overflow(call: Call) -> bool:
    return call.type.dtype == "int64" and call.node.operator in GROWING
