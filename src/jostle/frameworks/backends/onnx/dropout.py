"""How ONNX drops out."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, missing
from jostle.frameworks.backends.program import Unsupported
from jostle.frameworks.graph import Graph
from jostle.frameworks.operators.dropout import BY_CHANCE, middle, share_of_zeros

SEEDS_APART = 7919  # of two calls: equal seeds draw equal masks


def drops_out(graph: Graph) -> bool:
    return any(node.operator in BY_CHANCE for node in graph.nodes)


def _dropped(s: Sketch, x: str, rate: float, training: bool = True, call: int = 0) -> str:
    if rate == 1:
        raise Unsupported("documents ratios below 1")
    seed = s.attributes.get("seed", 0) + call * SEEDS_APART
    return s.add("Dropout", x, s.constant("ratio", rate, s.x.dtype), s.constant("mode", training, "bool"), seed=seed)


def _identity(s: Sketch) -> str:
    return _dropped(s, s[0], s.attributes["rate"], s.attributes["training"])


def _distance(s: Sketch) -> str:
    between = s.add("Mul", s[0], s.constant("middle", middle(s.attributes), s.x.dtype))
    away = s.add("Sub", _dropped(s, s[0], s.attributes["rate"]), between)
    return s.add("Mul", away, away)


def _share(s: Sketch) -> str:
    share = share_of_zeros(s.x, s.attributes)
    ones = s.add("Expand", _ones(s), s.constant("shape", list(share.shape)))
    calls = 2 if s.attributes["of"] == "calls" else 1
    counted, *others = (_zeros(s, ones, call) for call in range(calls))
    for other in others:
        counted = s.add("And", counted, other)
    numbers = s.cast(counted, "float32")
    if s.attributes["of"] == "neighbours":
        pairs = s.add("Reshape", numbers, s.constant("pairs", [-1, 2]))
        numbers = s.add("ReduceMin", pairs, s.constant("second", [1]), keepdims=0)
    off = s.add("Sub", s.add("ReduceMean", numbers, keepdims=0), s.constant("expected", share.expected, "float32"))
    return s.add("Less", s.add("Abs", off), s.constant("bound", share.bound, "float32"))


def _ones(s: Sketch) -> str:
    """Of the input, since a runtime may compute once for all what depends on constants only."""
    same = s.add("Equal", s[0], s[0])
    return s.cast(s.add("Or", same, s.add("Not", same)), s.x.dtype)


def _zeros(s: Sketch, ones: str, call: int) -> str:
    dropped = _dropped(s, ones, s.attributes["rate"], call=call)
    return s.add("Equal", dropped, s.constant("zero", 0.0, s.x.dtype))


DROPOUT: Mapping[str, Sketcher] = {
    "dropout_identity": _identity,
    "dropout_all": missing("documents ratios below 1"),
    "dropout_downscaled": missing("scales in training alone"),
    "dropout_distance": _distance,
    "dropout_share": _share,
}
