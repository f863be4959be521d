"""How ONNX normalises without a scale and a bias."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher


def _standardized(s: Sketch, name: str, axes: list[int]) -> str:
    over = s.constant("over", axes)
    apart = s.add("Sub", name, s.add("ReduceMean", name, over, keepdims=1))
    variance = s.add("ReduceMean", s.add("Mul", apart, apart), over, keepdims=1)
    epsilon = s.constant("epsilon", s.attributes["epsilon"], s.x.dtype)
    return s.add("Div", apart, s.add("Sqrt", s.add("Add", variance, epsilon)))


def _layer_norm(s: Sketch) -> str:
    """LayerNormalization takes a scale in any case."""
    axis = s.attributes["axis"]
    shape = s.constant("shape", list(s.x.shape[axis:]))
    ones = s.add("Expand", s.constant("one", 1.0, s.x.dtype), shape)
    return s.add("LayerNormalization", s[0], ones, axis=axis, epsilon=s.attributes["epsilon"])


def _group_norm(s: Sketch) -> str:
    split = s.constant("split", [s.x.shape[0], s.attributes["groups"], -1])
    normal = _standardized(s, s.add("Reshape", s[0], split), [2])
    return s.add("Reshape", normal, s.constant("shape", list(s.x.shape)))


def _response(s: Sketch) -> str:
    given = {name: s.attributes[name] for name in ("size", "alpha", "beta")}
    return s.add("LRN", s[0], **given, bias=s.attributes["k"])


PLAIN_NORMALISATION: Mapping[str, Sketcher] = {
    "plain_layer_norm": _layer_norm,
    "plain_group_norm": _group_norm,
    "plain_instance_norm": lambda s: _standardized(s, s[0], list(range(2, s.x.rank))),
    "standardize": lambda s: _standardized(s, s[0], list(s.attributes["axes"])),
    "local_response_norm_after": _response,
}
