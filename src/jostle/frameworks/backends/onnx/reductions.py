"""How ONNX combines the elements along axes, and puts them in order."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, missing, native, with_list


def _reduce(kind: str) -> Sketcher:
    return lambda s: _reduced(s, kind, s[0], s.attributes["keepdims"])


def _reduced(s: Sketch, kind: str, name: str, keepdims: bool) -> str:
    return s.add(kind, name, s.constant("axes", s.attributes["axes"]), keepdims=keepdims)


def _var(s: Sketch) -> str:
    count = math.prod(s.x.shape[axis] for axis in s.attributes["axes"])
    apart = s.add("Sub", s[0], _reduced(s, "ReduceMean", s[0], keepdims=True))
    squares = _reduced(s, "ReduceSumSquare", apart, s.attributes["keepdims"])
    return s.add("Div", squares, s.constant("count", float(count - s.attributes["correction"]), s.x.dtype))


def _count_nonzero(s: Sketch) -> str:
    zero = s.add("Equal", s[0], s.constant("zero", 0, s.x.dtype))
    return _reduced(s, "ReduceSum", s.cast(s.add("Not", zero), "int64"), s.attributes["keepdims"])


def _cumsum(s: Sketch) -> str:
    flags = {"exclusive": s.attributes["exclusive"], "reverse": s.attributes["reverse"]}
    return s.add("CumSum", s[0], s.constant("axis", s.attributes["axis"]), **flags)


def _sort(s: Sketch) -> str:
    axis = s.attributes["axis"]
    return _top(s, s.x.shape[axis], s.attributes["descending"])[0]


def _top(s: Sketch, count: int, largest: bool) -> tuple[str, ...]:
    return s.add_with_outputs("TopK", 2, s[0], s.constant("k", [count]), axis=s.attributes["axis"], largest=largest)


REDUCTIONS: Mapping[str, Sketcher] = {
    "sum": _reduce("ReduceSum"),
    "mean": _reduce("ReduceMean"),
    "prod": _reduce("ReduceProd"),
    "max": _reduce("ReduceMax"),
    "min": _reduce("ReduceMin"),
    "l1_norm": _reduce("ReduceL1"),
    "l2_norm": _reduce("ReduceL2"),
    "logsumexp": _reduce("ReduceLogSumExp"),
    "var": _var,
    "std": lambda s: s.add("Sqrt", _var(s)),
    "all": _reduce("ReduceMin"),
    "any": _reduce("ReduceMax"),
    "count_nonzero": _count_nonzero,
    "argmax": native("ArgMax", "axis", "keepdims"),
    "argmin": native("ArgMin", "axis", "keepdims"),
    "cumsum": _cumsum,
    "cumprod": with_list("CumProd", "axis"),
    "cummax": missing("has no cummax"),
    "logcumsumexp": missing("has no logcumsumexp"),
    "softmax": native("Softmax", "axis"),
    "log_softmax": native("LogSoftmax", "axis"),
    "sort": _sort,
    "topk_values": lambda s: _top(s, s.attributes["k"], s.attributes["largest"])[0],
    "topk_indices": lambda s: _top(s, s.attributes["k"], s.attributes["largest"])[1],
}
