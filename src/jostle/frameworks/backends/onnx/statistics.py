"""How ONNX describes the elements along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher
from jostle.frameworks.backends.program import Unsupported

REDUCE = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}
NORMS = {1.0: "ReduceL1", 2.0: "ReduceL2"}


def _reduced(s: Sketch, kind: str, name: str) -> str:
    return s.add(kind, name, s.constant("axes", s.attributes["axes"]), keepdims=s.attributes["keepdims"])


def _lp_norm(s: Sketch) -> str:
    p = s.attributes["p"]
    if p in NORMS:
        return _reduced(s, NORMS[p], s[0])
    if p in (float("inf"), -float("inf")):
        return _reduced(s, "ReduceMax" if p > 0 else "ReduceMin", s.add("Abs", s[0]))
    raise Unsupported(f"has no norm of p = {p}")


def _argsort(s: Sketch) -> str:
    """TopK takes the lower index first of equal values, whichever way it goes."""
    axis = s.attributes["axis"]
    size = s.constant("k", [s.x.shape[axis]])
    return s.add_with_outputs("TopK", 2, s[0], size, axis=axis, largest=s.attributes["descending"])[1]


def _diff(s: Sketch) -> str:
    axis, found, size = s.attributes["axis"], s[0], s.x.shape[s.attributes["axis"]]
    axes = s.constant("axes", [axis])
    for time in range(s.attributes["n"]):
        ends = s.constant(f"end{time}", [size - time]), s.constant(f"shorter{time}", [size - time - 1])
        later = s.add("Slice", found, s.constant("one", [1]), ends[0], axes)
        found = s.add("Sub", later, s.add("Slice", found, s.constant("zero", [0]), ends[1], axes))
    return found


def _kth(s: Sketch, place: int) -> str:
    axis, keepdims = s.attributes["axis"], s.attributes["keepdims"]
    count = s.constant("k", [place + 1])
    smallest = s.add_with_outputs("TopK", 2, s[0], count, axis=axis, largest=False)[0]
    return s.add("Gather", smallest, s.constant("place", [place] if keepdims else place), axis=axis)


STATISTICS: Mapping[str, Sketcher] = {
    "sum_square": lambda s: _reduced(s, "ReduceSumSquare", s[0]),
    "log_sum": lambda s: _reduced(s, "ReduceLogSum", s[0]),
    "lp_norm": _lp_norm,
    "reduce_no_axes": lambda s: s.add(REDUCE[s.attributes["kind"]], s[0], noop_with_empty_axes=1),
    "argsort": _argsort,
    "diff": _diff,
    "lower_median": lambda s: _kth(s, (s.x.shape[s.attributes["axis"]] - 1) // 2),
    "kth_value": lambda s: _kth(s, s.attributes["k"] - 1),
}
