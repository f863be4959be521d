"""What those who run ONNX models say that they do not compute."""

from __future__ import annotations

from jostle.frameworks.backends.onnx.int64_bounds import largest_wholes, overflows
from jostle.frameworks.backends.program import Unsupported, calls
from jostle.frameworks.graph import Graph
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.operators.dropout import BY_CHANCE

LARGEST_INT32 = 2.0**31 - 1


def refuse_onnxruntime(graph: Graph) -> None:
    """Kernels that exist, but say so in words only when they run, and what ONNX leaves open."""
    largest = largest_wholes(graph)
    for call in calls(graph):
        operator, first = call.node.operator, call.types[0]
        if operator in ("sum", "sum_square", "prod") and overflows(call, largest):
            raise Unsupported("saturates where a reduction of whole numbers overflows, of which ONNX says nothing")
        if operator in ("lstm", "gru", "lstm_from", "gru_from", "lstm_peephole") and first.dtype == "float64":
            raise Unsupported(f"has no {operator} of float64")
        if operator in ("local_response_norm", "local_response_norm_after") and first.rank != 4:
            raise Unsupported("has LRN of rank 4 only")
        if operator == "local_response_norm_after" and call.attributes["size"] % 2 == 0:
            raise Unsupported("has LRN of an odd size only")
        if operator in ("all", "any") and any(first.shape[axis] == 0 for axis in call.attributes["axes"]):
            raise Unsupported("has no ReduceMin and ReduceMax of bool over nothing")


def refuse_openvino(graph: Graph) -> None:
    """Its CPU plugin computes float64 in float32 and int64 in int32, as its documentation says."""
    types, largest = types_of(graph), largest_wholes(graph)
    if any(type_.dtype == "int64" and largest[name] > LARGEST_INT32 for name, type_ in types.items()):
        raise Unsupported("computes int64 in int32")
    for call in calls(graph):
        if "float64" in {call.type.dtype, *(one.dtype for one in call.types)}:
            raise Unsupported("computes float64 in float32")
        if call.node.operator in BY_CHANCE or call.attributes.get("training"):
            raise Unsupported("has no dropout in training")
        if call.node.operator in ("cumprod", "det", "max_unpool") or call.attributes.get("mode") == "circular":
            raise Unsupported(f"has no {call.node.operator} of this kind")
