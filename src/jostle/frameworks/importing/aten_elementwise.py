"""The operators of torch's own graphs that treat every element alone, in terms of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.importing.aten import Arguments, Translation, Untranslated, dtype_of
from jostle.frameworks.importing.aten_reductions import along
from jostle.frameworks.importing.building import GraphBuilder


def _unary(operator: str, **attributes: str) -> Translation:
    """Attributes by the names of torch's arguments."""

    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        x = builder.as_dtype(given["self"], dtype_of(value)) if value.is_floating_point() else given["self"]
        return builder.node(operator, x, **{name: given[source] for name, source in attributes.items()})

    return translate


def _operand(builder: GraphBuilder, operand: Any, dtype: str) -> str:
    if isinstance(operand, str):
        return builder.as_dtype(operand, dtype)
    return builder.constant(operand, dtype)


def _binary(operator: str, flipped: bool = False) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        dtype = dtype_of(value)
        other = _operand(builder, given["other"], dtype)
        if given.get("alpha", 1) != 1:
            other = builder.node("mul", other, builder.constant(given["alpha"], dtype))
        pair = (_operand(builder, given["self"], dtype), other)
        return builder.add(operator, pair[::-1] if flipped else pair, {})

    return translate


def _comparison(operator: str) -> Translation:
    def translate(builder: GraphBuilder, given: Arguments, value: Any) -> str:
        dtype = builder.types[given["self"]].dtype
        return builder.node(operator, given["self"], _operand(builder, given["other"], dtype))

    return translate


def _div(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if given.get("rounding_mode") is not None:
        raise Untranslated("div with rounding")
    return str(_binary("div")(builder, given, value))


def _pow(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    dtype = dtype_of(value)
    if given["exponent"] == 2:
        return builder.node("square", builder.as_dtype(given["self"], dtype))
    return builder.node("pow", _operand(builder, given["self"], dtype), _operand(builder, given["exponent"], dtype))


def _gelu(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.node("gelu_tanh" if given["approximate"] == "tanh" else "gelu", given["self"])


def _clip(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    low, high = given.get("min", given.get("min_val")), given.get("max", given.get("max_val"))
    x, dtype = given["self"], dtype_of(value)
    if low is not None and high is not None and value.is_floating_point():
        return builder.node("clip", x, low=float(low), high=float(high))
    if low is not None:
        x = builder.node("maximum", x, _operand(builder, low, dtype))
    return x if high is None else builder.node("minimum", x, _operand(builder, high, dtype))


def _softplus(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if given["beta"] != 1:
        raise Untranslated("softplus with another beta")
    return builder.node("softplus", given["self"])


def _elu(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    if (given["scale"], given["input_scale"]) != (1, 1):
        raise Untranslated("elu with scales")
    return builder.node("elu", given["self"], alpha=given["alpha"])


def _cast(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    return builder.as_dtype(given["self"], dtype_of(value))


def _where(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    dtype = dtype_of(value)
    chosen = (_operand(builder, given[side], dtype) for side in ("self", "other"))
    return builder.node("where", given["condition"], *chosen)


def _dropout(builder: GraphBuilder, given: Arguments, value: Any) -> Any:
    if given["train"]:
        raise Untranslated("dropout in training")
    return given["input"]


def _prelu(builder: GraphBuilder, given: Arguments, value: Any) -> str:
    slopes = given["weight"]
    if builder.types[slopes].size != value.shape[1]:
        slopes = builder.node("expand", slopes, shape=[int(value.shape[1])])
    return builder.node("prelu", given["self"], slopes)


UNARY = (
    *(
        "relu",
        "relu6",
        "selu",
        "sigmoid",
        "tanh",
        "silu",
        "mish",
        "hardsigmoid",
        "hardswish",
        "log_sigmoid",
        "abs",
        "neg",
    ),
    *("square", "exp", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "asin"),
    *("acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "round", "trunc", "sign"),
    *("isnan", "isinf", "logical_not", "bitwise_not"),
)
BINARY = ("add", "sub", "mul", "maximum", "minimum", "atan2", "remainder", "fmod", "floor_divide")
COMPARED = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
LOGICAL = ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
SAME: Mapping[str, str] = dict.fromkeys(
    ("clone", "contiguous", "alias", "lift_fresh_copy", "detach", "detach_"), "self"
)
ELEMENTWISE: Mapping[str, Translation] = {
    **{name: _unary(name) for name in UNARY},
    **{name: _binary(name) for name in BINARY},
    **{name: _comparison(operator) for name, operator in COMPARED.items()},
    **{name: _binary(name) for name in LOGICAL},
    "rsub": _binary("sub", flipped=True),
    "div": _div,
    "true_divide": _div,
    "pow": _pow,
    "gelu": _gelu,
    "clamp": _clip,
    "clip": _clip,
    "clamp_min": _clip,
    "clamp_max": _clip,
    "hardtanh": _clip,
    "softplus": _softplus,
    "elu": _elu,
    "celu": _unary("celu", alpha="alpha"),
    "leaky_relu": _unary("leaky_relu", alpha="negative_slope"),
    "hardshrink": _unary("hardshrink", threshold="lambd"),
    "softshrink": _unary("softshrink", threshold="lambd"),
    "_to_copy": _cast,
    "to": _cast,
    "type_as": _cast,
    "where": _where,
    "dropout": _dropout,
    "feature_dropout": _dropout,
    "glu": along("glu"),
    "prelu": _prelu,
}
