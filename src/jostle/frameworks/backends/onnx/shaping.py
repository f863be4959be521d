"""Operators that move elements, and those that combine them along axes, in ONNX."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, missing, native
from jostle.frameworks.backends.program import Unsupported

BEFORE_ALL = -(2**31)  # an end that no slice backwards reaches


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


def _with_list(kind: str, attribute: str) -> Sketcher:
    """What is an attribute with us is an input there."""
    return lambda s: s.add(kind, s[0], s.constant(attribute, s.attributes[attribute]))


def _reshape(s: Sketch) -> str:
    return s.add("Reshape", s[0], s.constant("shape", s.attributes["shape"]), allowzero=1)


def _stack(s: Sketch) -> str:
    axes = s.constant("axes", [s.attributes["axis"]])
    rows = [s.add("Unsqueeze", name, axes) for name in s.call.node.inputs]
    return s.add("Concat", *rows, axis=s.attributes["axis"])


def _slice(s: Sketch) -> str:
    starts, sizes, steps = (s.attributes[name] for name in ("starts", "sizes", "steps"))
    ends = [start + size * step for start, size, step in zip(starts, sizes, steps, strict=True)]
    ends = [end if end >= 0 else BEFORE_ALL for end in ends]
    return _sliced(s, "", starts, ends, list(range(s.x.rank)), steps)


def _sliced(s: Sketch, stem: str, starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> str:
    told = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    return s.add("Slice", s[0], *(s.constant(stem + name, value) for name, value in told.items()))


def _flip(s: Sketch) -> str:
    axes = s.attributes["axes"]
    return _sliced(s, "", [-1] * len(axes), [BEFORE_ALL] * len(axes), axes, [-1] * len(axes))


def _roll(s: Sketch) -> str:
    axis = s.attributes["axis"]
    size = s.x.shape[axis]
    shift = s.attributes["shift"] % size if size else 0
    if shift == 0:
        return s.add("Identity", s[0])
    last = _sliced(s, "last_", [size - shift], [size], [axis], [1])
    return s.add("Concat", last, _sliced(s, "first_", [0], [size - shift], [axis], [1]), axis=axis)


PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad(s: Sketch) -> str:
    pads = s.constant("pads", s.attributes["before"] + s.attributes["after"])
    value = s.attributes["value"] if s.x.is_float else int(s.attributes["value"])
    inputs = [pads, s.constant("value", value, s.x.dtype)] if s.attributes["mode"] == "constant" else [pads]
    return s.add("Pad", s[0], *inputs, mode=PAD_MODES[s.attributes["mode"]])


def _one_hot(s: Sketch) -> str:
    """With ONNX, positions below 0 count from the end; with us they name none."""
    if s.x.rank == 0:
        raise Unsupported("OneHot takes no scalar")
    depth = s.constant("depth", s.attributes["depth"])
    named = s.add("Where", s.add("Less", s[0], s.constant("zero", 0)), depth, s[0])
    return s.add("OneHot", named, depth, s.constant("values", [0.0, 1.0], "float32"))


def _triangle(upper: bool) -> Sketcher:
    return lambda s: s.add("Trilu", s[0], s.constant("k", s.attributes["diagonal"]), upper=upper)


def _depth_to_space(s: Sketch) -> str:
    return s.add("DepthToSpace", s[0], blocksize=s.attributes["block"], mode=s.attributes["mode"].upper())


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
    "cumprod": _with_list("CumProd", "axis"),
    "cummax": missing("has no cummax"),
    "logcumsumexp": missing("has no logcumsumexp"),
    "softmax": native("Softmax", "axis"),
    "log_softmax": native("LogSoftmax", "axis"),
}
SHAPING: Mapping[str, Sketcher] = {
    "reshape": _reshape,
    "transpose": lambda s: s.add("Transpose", s[0], perm=s.attributes["permutation"]),
    "squeeze": _with_list("Squeeze", "axes"),
    "unsqueeze": _with_list("Unsqueeze", "axes"),
    "expand": _with_list("Expand", "shape"),
    "concat": native("Concat", "axis"),
    "stack": _stack,
    "slice": _slice,
    "flip": _flip,
    "roll": _roll,
    "pad": _pad,
    "tile": _with_list("Tile", "repeats"),
    "gather": native("GatherElements", "axis"),
    "take": native("Gather", "axis"),
    "scatter": native("ScatterElements", "axis", "reduction"),
    "one_hot": _one_hot,
    "tril": _triangle(upper=False),
    "triu": _triangle(upper=True),
    "depth_to_space": _depth_to_space,
    "space_to_depth": lambda s: s.add("SpaceToDepth", s[0], blocksize=s.attributes["block"]),
    "sort": _sort,
    "topk_values": lambda s: _top(s, s.attributes["k"], s.attributes["largest"])[0],
    "topk_indices": lambda s: _top(s, s.attributes["k"], s.attributes["largest"])[1],
}
