"""Operators that treat every element alone, and activations with inputs of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jostle.frameworks.graph import DTYPES, Attributes, TensorType
from jostle.frameworks.operators.kinds import along, is_channelled, per_channel, weights
from jostle.frameworks.operators.operator import (
    AXIS,
    Accepts,
    Choice,
    Infer,
    OperandDomain,
    Operator,
    Real,
    Rounding,
    Types,
    Wanted,
    broadcast,
    count_of,
    is_bool,
    is_float,
    is_integer,
    is_number,
    is_wide,
    require,
    same_dtype,
)
from jostle.frameworks.operators.subtracted import (
    Sizes,
    alpha_below_0,
    itself,
    one_and_itself_above_0,
    one_and_itself_below_0,
    one_below_0,
)


def _same(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    return types[0]


def _to_bool(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    return TensorType(types[0].shape, "bool")


def _checked(infer: Infer, accepts: Accepts) -> Infer:
    def checked(types: Types, attributes: Attributes) -> TensorType:
        require(bool(types) and accepts(types[0]), f"is not defined on {types[0].dtype if types else 'nothing'}")
        return infer(types, attributes)

    return checked


def _unary(
    name: str,
    meaning: str,
    accepts: Accepts = is_float,
    *,
    flat: bool = False,
    infer: Infer = _same,
    rounding: Rounding = Rounding.RELATIVE,
    **domains: OperandDomain,
) -> Operator:
    """`flat`: jumps between values, so that its gradient is zero or none."""
    return Operator(
        name,
        meaning,
        _checked(infer, accepts),
        accepts,
        domains,
        differentiable=not flat,
        discontinuous=flat,
        rounding=rounding,
    )


def _saturating(name: str, meaning: str, subtracts: Sizes | None = None, **domains: OperandDomain) -> Operator:
    infer, rounding = _checked(_same, is_float), Rounding.SATURATING
    return Operator(name, meaning, infer, is_float, domains, rounding=rounding, subtracts=subtracts)


def _clip(types: Types, attributes: Attributes) -> TensorType:
    require(attributes["low"] <= attributes["high"], "low is above high")
    return _same(types, attributes)


ALPHA = Real((0.01, 0.2, 1.0, 1.5))
THRESHOLD = Real((0.0, 0.3, 0.5, 1.0))
UNARY = (
    _unary("relu", "max(x, 0)", rounding=Rounding.EXACT),
    _unary("relu6", "min(max(x, 0), 6)", rounding=Rounding.EXACT),
    _unary("leaky_relu", "x where x > 0 else alpha x", alpha=ALPHA),
    _saturating("elu", "x where x > 0 else alpha (exp(x) - 1)", alpha=ALPHA, subtracts=alpha_below_0),
    _saturating(
        "selu", "1.0507009873554805 (x where x > 0 else 1.6732632423543772 (exp(x) - 1))", subtracts=alpha_below_0
    ),
    _saturating("celu", "max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)", alpha=ALPHA, subtracts=alpha_below_0),
    _saturating("gelu", "x (1 + erf(x / √2)) / 2", subtracts=itself),
    _saturating("gelu_tanh", "x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2", subtracts=itself),
    _saturating("sigmoid", "1 / (1 + exp(-x))", subtracts=one_below_0),
    _saturating("log_sigmoid", "-log(1 + exp(-x))", subtracts=one_and_itself_above_0),
    _saturating("tanh", "tanh(x)"),
    _saturating("softplus", "log(1 + exp(x))", subtracts=one_and_itself_below_0),
    _unary("softsign", "x / (1 + |x|)"),
    _saturating("hardsigmoid", "min(max(x / 6 + 1/2, 0), 1)"),
    _saturating("hardswish", "x min(max(x / 6 + 1/2, 0), 1)"),
    _saturating("silu", "x sigmoid(x)", subtracts=itself),
    _saturating("mish", "x tanh(softplus(x))", subtracts=itself),
    _unary("hardshrink", "x where |x| > threshold else 0", threshold=THRESHOLD, flat=True, rounding=Rounding.EXACT),
    _unary("softshrink", "sign(x) max(|x| - threshold, 0)", threshold=THRESHOLD),
    _unary("abs", "|x|", is_wide, rounding=Rounding.EXACT),
    _unary("neg", "-x", is_wide, rounding=Rounding.EXACT),
    _unary("square", "x²", is_wide, rounding=Rounding.ONCE),
    _unary("exp", "eˣ"),
    _unary("expm1", "eˣ - 1, precise near 0"),
    _unary("log", "natural logarithm"),
    _unary("log1p", "log(1 + x), precise near 0"),
    _unary("log2", "logarithm to base 2"),
    _unary("sqrt", "√x", rounding=Rounding.ONCE),
    _unary("rsqrt", "1 / √x"),
    _unary("reciprocal", "1 / x"),
    _unary("sin", "sine"),
    _unary("cos", "cosine"),
    _unary("tan", "tangent"),
    _unary("asin", "arc sine"),
    _unary("acos", "arc cosine"),
    _unary("atan", "arc tangent"),
    _saturating("sinh", "hyperbolic sine"),
    _saturating("cosh", "hyperbolic cosine"),
    _saturating("asinh", "its inverse"),
    _saturating("acosh", "inverse of cosh"),
    _saturating("atanh", "inverse of tanh"),
    _saturating("erf", "error function"),
    _unary(
        "clip",
        "min(max(x, low), high)",
        low=Real((-1.0, -0.5, 0.0)),
        high=Real((0.0, 0.5, 6.0)),
        infer=_clip,
        rounding=Rounding.EXACT,
    ),
    _unary("floor", "largest whole number not above x", flat=True, rounding=Rounding.EXACT),
    _unary("ceil", "smallest whole number not below x", flat=True, rounding=Rounding.EXACT),
    _unary("round", "nearest whole number, halves to even", flat=True, rounding=Rounding.EXACT),
    _unary("trunc", "whole part of x", flat=True, rounding=Rounding.EXACT),
    _unary("sign", "-1, 0 or 1 as x is below, at or above 0", is_wide, flat=True, rounding=Rounding.EXACT),
    _unary("isnan", "whether x is not a number", flat=True, infer=_to_bool, rounding=Rounding.EXACT),
    _unary("isinf", "whether x is infinite", flat=True, infer=_to_bool, rounding=Rounding.EXACT),
    _unary("logical_not", "whether x is false", is_bool, flat=True, rounding=Rounding.EXACT),
    _unary("bitwise_not", "x with every bit turned", is_integer, flat=True, rounding=Rounding.EXACT),
)


def _cast_type(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 1)
    return TensorType(types[0].shape, attributes["to"])


CAST = Operator(
    "cast",
    "x as another dtype; to whole numbers by cutting off what follows the point, to bool by x ≠ 0; "
    "a value that does not fit is undefined",
    _cast_type,
    lambda first: True,
    {"to": Choice(DTYPES)},
    discontinuous=True,
    rounding=Rounding.NARROWING,
)


def _arithmetic(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    return TensorType(broadcast(types[0].shape, types[1].shape), same_dtype(types))


def _comparison(types: Types, attributes: Attributes) -> TensorType:
    return TensorType(_arithmetic(types, attributes).shape, "bool")


def partner_shape(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """Mostly the same; at times with other axes of one, or fewer or more first ones, so that it must be broadcast."""
    if rng.random() < 0.6:
        return shape
    if rng.random() < 0.2 and len(shape) < 5:
        return (int(rng.integers(1, 4)), *shape)
    kept = shape[int(rng.integers(len(shape) + 1)) :]
    return tuple(int(rng.integers(1, 4)) if size == 1 else 1 if rng.random() < 0.4 else size for size in kept)


def _partner(filled: str) -> Callable[[TensorType, Attributes, np.random.Generator], Sequence[Wanted]]:
    def wanted(first: TensorType, attributes: Attributes, rng: np.random.Generator) -> Sequence[Wanted]:
        return (Wanted(partner_shape(first.shape, rng), first.dtype, filled),)

    return wanted


def _binary(
    name: str,
    meaning: str,
    accepts: Accepts = is_wide,
    *,
    flat: bool = False,
    infer: Infer = _arithmetic,
    filled: str = "values",
    rounding: Rounding = Rounding.RELATIVE,
) -> Operator:
    return Operator(
        name,
        meaning,
        _checked(infer, accepts),
        accepts,
        extras=_partner(filled),
        differentiable=not flat,
        discontinuous=flat,
        rounding=rounding,
    )


BINARY = (
    _binary("add", "a + b", rounding=Rounding.ONCE),
    _binary("sub", "a - b", rounding=Rounding.ONCE),
    _binary("mul", "a b", rounding=Rounding.ONCE),
    _binary("div", "a / b", is_float, rounding=Rounding.ONCE),
    _binary("pow", "a to the power of b", is_float),
    _binary("maximum", "the larger; NaN if one is", rounding=Rounding.EXACT),
    _binary("minimum", "the smaller; NaN if one is", rounding=Rounding.EXACT),
    _binary("atan2", "angle of the point (b, a)", is_float),
    _binary(
        "floor_divide",
        "⌊a / b⌋ of whole numbers; undefined for b = 0",
        is_integer,
        flat=True,
        filled="nonzero",
        rounding=Rounding.EXACT,
    ),
    _binary(
        "remainder", "a - b ⌊a / b⌋, with the sign of b; undefined for b = 0", is_wide, flat=True, filled="nonzero"
    ),
    _binary(
        "fmod", "a - b trunc(a / b), with the sign of a; undefined for b = 0", is_wide, flat=True, filled="nonzero"
    ),
    _binary("equal", "a = b", is_number, flat=True, infer=_comparison, rounding=Rounding.EXACT),
    _binary("not_equal", "a ≠ b", is_number, flat=True, infer=_comparison, rounding=Rounding.EXACT),
    _binary("less", "a < b", is_number, flat=True, infer=_comparison, rounding=Rounding.EXACT),
    _binary("less_equal", "a ≤ b", is_number, flat=True, infer=_comparison, rounding=Rounding.EXACT),
    _binary("greater", "a > b", is_number, flat=True, infer=_comparison, rounding=Rounding.EXACT),
    _binary("greater_equal", "a ≥ b", is_number, flat=True, infer=_comparison, rounding=Rounding.EXACT),
    _binary("logical_and", "a and b", is_bool, flat=True, filled="mask", rounding=Rounding.EXACT),
    _binary("logical_or", "a or b", is_bool, flat=True, filled="mask", rounding=Rounding.EXACT),
    _binary("logical_xor", "either a or b", is_bool, flat=True, filled="mask", rounding=Rounding.EXACT),
    _binary("bitwise_and", "bits set in both", is_integer, flat=True, rounding=Rounding.EXACT),
    _binary("bitwise_or", "bits set in either", is_integer, flat=True, rounding=Rounding.EXACT),
    _binary("bitwise_xor", "bits set in one of both", is_integer, flat=True, rounding=Rounding.EXACT),
    _binary(
        "left_shift",
        "a 2ᵇ, cut to the dtype; undefined unless 0 ≤ b < bits",
        is_integer,
        flat=True,
        filled="shifts",
        rounding=Rounding.EXACT,
    ),
    _binary(
        "right_shift",
        "⌊a / 2ᵇ⌋; undefined unless 0 ≤ b < bits",
        is_integer,
        flat=True,
        filled="shifts",
        rounding=Rounding.EXACT,
    ),
)


def _where_type(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 3)
    require(types[0].dtype == "bool", "the condition is not bool")
    return TensorType(broadcast(*(one.shape for one in types)), same_dtype(types[1:]))


def _where_extras(first: TensorType, attributes: Attributes, rng: np.random.Generator) -> Sequence[Wanted]:
    dtype = str(rng.choice(["float32", "float64", "int32", "int64"]))
    return Wanted(first.shape, dtype, "values"), Wanted(partner_shape(first.shape, rng), dtype, "values")


WHERE = Operator(
    "where", "b where a holds, else c", _where_type, is_bool, extras=_where_extras, rounding=Rounding.EXACT
)
ELEMENTWISE = (*UNARY, CAST, *BINARY, WHERE)


def _glu(types: Types, attributes: Attributes) -> TensorType:
    first = along(types, attributes)
    axis = attributes["axis"]
    require(first.shape[axis] % 2 == 0, "the axis cannot be halved")
    return TensorType((*first.shape[:axis], first.shape[axis] // 2, *first.shape[axis + 1 :]), first.dtype)


def _dropout(types: Types, attributes: Attributes) -> TensorType:
    count_of(types, 2)
    require(types[0].is_float and types[1] == TensorType(types[0].shape, "bool"), "the mask does not fit")
    require(0 <= attributes["rate"] < 1, "the rate is in [0, 1)")
    return types[0]


ACTIVATIONS = (
    Operator(
        "prelu",
        "x where x > 0 else slope x, a slope per channel",
        per_channel(1),
        is_channelled,
        {},
        lambda x, a, rng: (weights(x.shape[1:2], x),),
    ),
    Operator(
        "glu",
        "first half times sigmoid of the second along an axis",
        _glu,
        lambda x: x.is_float and x.rank > 0,
        {"axis": AXIS},
        rounding=Rounding.SATURATING,
    ),
    Operator(
        "dropout",
        "x mask / (1 - rate); the mask is an input",
        _dropout,
        lambda x: x.is_float,
        {"rate": Real((0.0, 0.1, 0.5, 0.9))},
        lambda x, a, rng: (Wanted(x.shape, "bool", "mask"),),
    ),
)
