"""How ONNX computes arithmetic beyond the four operations."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jostle.frameworks.backends.onnx.elementwise import remainder_of
from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native


def _scalar(s: Sketch) -> str:
    return s.constant("scalar", s.attributes["scalar"], s.x.dtype)


def _after(kind: str) -> Sketcher:
    return lambda s: s.add(kind, s[0], _scalar(s))


def _before(kind: str) -> Sketcher:
    return lambda s: s.add(kind, _scalar(s), s[0])


def _times(factor: float) -> Sketcher:
    return lambda s: s.add("Mul", s[0], s.constant("factor", factor, s.x.dtype))


def _isfinite(s: Sketch) -> str:
    return s.add("Not", s.add("Or", s.add("IsNaN", s[0]), s.add("IsInf", s[0])))


def _nan_to_num(s: Sketch) -> str:
    infinite = {"positive": {"detect_negative": 0}, "negative": {"detect_positive": 0}}
    found = s.add("Where", s.add("IsNaN", s[0]), s.constant("nan", s.attributes["nan"], s.x.dtype), s[0])
    for name, sides in infinite.items():
        number = s.constant(name, s.attributes[name], s.x.dtype)
        found = s.add("Where", s.add("IsInf", s[0], **sides), number, found)
    return found


def _round_decimals(s: Sketch) -> str:
    scale = s.constant("scale", 10.0 ** s.attributes["decimals"], s.x.dtype)
    return s.add("Div", s.add("Round", s.add("Mul", s[0], scale)), scale)


def _squared_difference(s: Sketch) -> str:
    apart = s.add("Sub", s[0], s[1])
    return s.add("Mul", apart, apart)


def _lerp(s: Sketch) -> str:
    return s.add("Add", s[0], s.add("Mul", s[2], s.add("Sub", s[1], s[0])))


def _plus(kind: str) -> Sketcher:
    def sketch(s: Sketch) -> str:
        value = s.constant("value", s.attributes["value"], s.x.dtype)
        return s.add("Add", s[0], s.add(kind, s.add("Mul", s[1], value), s[2]))

    return sketch


ARITHMETIC: Mapping[str, Sketcher] = {
    "add_scalar": _after("Add"),
    "mul_scalar": _after("Mul"),
    "rsub_scalar": _before("Sub"),
    "div_scalar": _after("Div"),
    "rdiv_scalar": _before("Div"),
    "pow_scalar": _after("Pow"),
    "rpow_scalar": _before("Pow"),
    "remainder_scalar": lambda s: remainder_of(s, s[0], _scalar(s)),
    "isfinite": _isfinite,
    "isposinf": native("IsInf", detect_negative=0),
    "isneginf": native("IsInf", detect_positive=0),
    "nan_to_num": _nan_to_num,
    "round_decimals": _round_decimals,
    "deg2rad": _times(math.pi / 180),
    "rad2deg": _times(180 / math.pi),
    "squared_difference": _squared_difference,
    "div_floor": lambda s: s.add("Floor", s.add("Div", s[0], s[1])),
    "lerp": _lerp,
    "addcmul": _plus("Mul"),
    "addcdiv": _plus("Div"),
    "clip_between": lambda s: s.add("Min", s.add("Max", s[0], s[1]), s[2]),
}
