"""How ONNX computes operators that treat every element alone."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, chain, missing, native, only_float32
from jostle.frameworks.backends.program import Unsupported


def _clip(low: float, high: float) -> Sketcher:
    return lambda s: _clipped(s, low, high)


def _clipped(s: Sketch, low: float, high: float) -> str:
    return s.add("Clip", s[0], s.constant("low", low, s.x.dtype), s.constant("high", high, s.x.dtype))


def _log_sigmoid(s: Sketch) -> str:
    return s.add("Neg", s.add("Softplus", s.add("Neg", s[0])))


def _shrink(bias: bool) -> Sketcher:
    def sketch(s: Sketch) -> str:
        threshold = s.attributes["threshold"]
        return s.add("Shrink", s[0], lambd=threshold, bias=threshold if bias else 0.0)

    return sketch


def _log2(s: Sketch) -> str:
    return s.add("Mul", s.add("Log", s[0]), s.constant("scale", 1 / math.log(2), s.x.dtype))


def _trunc(s: Sketch) -> str:
    return s.add("Mul", s.add("Sign", s[0]), s.add("Floor", s.add("Abs", s[0])))


def _cast(s: Sketch) -> str:
    return s.cast(s[0], s.attributes["to"])


def _floor_divide(s: Sketch) -> str:
    """ONNX cuts off what follows the point, which is one more where the remainders of both kinds differ."""
    cut = s.add("Div", s[0], s[1])
    if s.x.dtype == "uint8":
        return cut
    same = s.add("Equal", s.add("Mod", s[0], s[1]), s.add("Sub", s[0], s.add("Mul", cut, s[1])))
    return s.add("Sub", cut, s.cast(s.add("Not", same), s.x.dtype))


def _fmod(s: Sketch) -> str:
    if not s.x.is_float:
        raise Unsupported("defines Mod with fmod=1 on floats only")
    return s.add("Mod", s[0], s[1], fmod=1)


def remainder_of(s: Sketch, a: str, b: str) -> str:
    """Mod of floats has the sign of the first, of whole numbers that of the second."""
    if not s.x.is_float:
        return s.add("Mod", a, b)
    rest = s.add("Mod", a, b, fmod=1)
    signs = s.add("Mul", s.add("Sign", rest), s.add("Sign", b))
    differ = s.add("Less", signs, s.constant("zero", 0.0, s.x.dtype))
    return s.add("Where", differ, s.add("Add", rest, b), rest)


def _shift(direction: str) -> Sketcher:
    def sketch(s: Sketch) -> str:
        if s.x.dtype != "uint8":
            raise Unsupported("shifts unsigned numbers only")
        return s.add("BitShift", s[0], s[1], direction=direction)

    return sketch


def _prelu(s: Sketch) -> str:
    if s.x.rank == 2:
        return s.add("PRelu", s[0], s[1])
    return s.add("PRelu", s[0], s.add("Unsqueeze", s[1], s.constant("axes", list(range(1, s.x.rank - 1)))))


def _glu(s: Sketch) -> str:
    halves = s.constant("halves", [s.call.type.shape[s.attributes["axis"]]] * 2)
    kept, gate = s.add_with_outputs("Split", 2, s[0], halves, axis=s.attributes["axis"])
    return s.add("Mul", kept, s.add("Sigmoid", gate))


def _dropout(s: Sketch) -> str:
    kept = s.add("Mul", s[0], s.cast(s[1], s.x.dtype))
    return s.add("Div", kept, s.constant("kept", 1 - s.attributes["rate"], s.x.dtype))


ELEMENTWISE: Mapping[str, Sketcher] = {
    "relu": native("Relu"),
    "relu6": _clip(0.0, 6.0),
    "leaky_relu": native("LeakyRelu", "alpha"),
    "elu": native("Elu", "alpha"),
    "selu": only_float32(native("Selu"), "alpha and gamma"),
    "celu": only_float32(native("Celu", "alpha"), "what Celu takes"),
    "gelu": native("Gelu"),
    "gelu_tanh": only_float32(native("Gelu", approximate="tanh"), "0.044715 and √(2/π)"),
    "sigmoid": native("Sigmoid"),
    "log_sigmoid": _log_sigmoid,
    "tanh": native("Tanh"),
    "softplus": native("Softplus"),
    "softsign": native("Softsign"),
    "hardsigmoid": native("HardSigmoid", alpha=1 / 6, beta=0.5),
    "hardswish": only_float32(native("HardSwish"), "1/6"),
    "silu": lambda s: s.add("Mul", s[0], s.add("Sigmoid", s[0])),
    "mish": native("Mish"),
    "hardshrink": _shrink(bias=False),
    "softshrink": _shrink(bias=True),
    "abs": native("Abs"),
    "neg": native("Neg"),
    "square": lambda s: s.add("Mul", s[0], s[0]),
    "exp": native("Exp"),
    "expm1": missing("has no expm1"),
    "log": native("Log"),
    "log1p": missing("has no log1p"),
    "log2": _log2,
    "sqrt": native("Sqrt"),
    "rsqrt": chain("Sqrt", "Reciprocal"),
    "reciprocal": native("Reciprocal"),
    "sin": native("Sin"),
    "cos": native("Cos"),
    "tan": native("Tan"),
    "asin": native("Asin"),
    "acos": native("Acos"),
    "atan": native("Atan"),
    "sinh": native("Sinh"),
    "cosh": native("Cosh"),
    "asinh": native("Asinh"),
    "acosh": native("Acosh"),
    "atanh": native("Atanh"),
    "erf": native("Erf"),
    "clip": lambda s: _clipped(s, s.attributes["low"], s.attributes["high"]),
    "floor": native("Floor"),
    "ceil": native("Ceil"),
    "round": native("Round"),
    "trunc": _trunc,
    "sign": native("Sign"),
    "isnan": native("IsNaN"),
    "isinf": native("IsInf"),
    "logical_not": native("Not"),
    "bitwise_not": native("BitwiseNot"),
    "cast": _cast,
    "add": native("Add"),
    "sub": native("Sub"),
    "mul": native("Mul"),
    "div": native("Div"),
    "pow": native("Pow"),
    "maximum": native("Max"),
    "minimum": native("Min"),
    "atan2": missing("has no atan2"),
    "floor_divide": _floor_divide,
    "remainder": lambda s: remainder_of(s, s[0], s[1]),
    "fmod": _fmod,
    "equal": native("Equal"),
    "not_equal": chain("Equal", "Not"),
    "less": native("Less"),
    "less_equal": native("LessOrEqual"),
    "greater": native("Greater"),
    "greater_equal": native("GreaterOrEqual"),
    "logical_and": native("And"),
    "logical_or": native("Or"),
    "logical_xor": native("Xor"),
    "bitwise_and": native("BitwiseAnd"),
    "bitwise_or": native("BitwiseOr"),
    "bitwise_xor": native("BitwiseXor"),
    "left_shift": _shift("LEFT"),
    "right_shift": _shift("RIGHT"),
    "where": native("Where"),
    "prelu": _prelu,
    "glu": _glu,
    "dropout": _dropout,
}
