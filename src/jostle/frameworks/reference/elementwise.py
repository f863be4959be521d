"""Formulas of the operators that treat every element alone."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.graph import FLOATS, INTEGERS
from jostle.frameworks.reference.numbers import Formula, along, bits_of, least, most, plain
from jostle.frameworks.reference.undefined import undefined_where, undefined_with_nan

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


# In every `where` below, what is not chosen is computed of harmless values, or its gradient would be 0 * inf.


def not_above(x: Tensor, limit: float) -> Tensor:
    return torch.where(x >= limit, limit, x)


def not_below(x: Tensor, limit: float) -> Tensor:
    return torch.where(x <= limit, limit, x)


def within(x: Tensor, low: float, high: float) -> Tensor:
    """min(max(x, low), high); NaN stays NaN."""
    return not_above(not_below(x, low), high)


def exponential_below_0(x: Tensor, alpha: float) -> Tensor:
    """x where x > 0 else alpha (exp(x) - 1)."""
    above = x > 0
    return torch.where(above, x, alpha * torch.expm1(torch.where(above, 0.0, x)))


def celu(x: Tensor, alpha: float) -> Tensor:
    above = x > 0
    return torch.where(above, x, alpha * torch.expm1(torch.where(above, 0.0, x) / alpha))


def sigmoid(x: Tensor) -> Tensor:
    at_least_0 = x >= 0
    small = torch.exp(torch.where(at_least_0, -x, x))
    return torch.where(at_least_0, 1.0, small) / (1 + small)


def softplus(x: Tensor) -> Tensor:
    above = x > 0
    return torch.where(above, x, 0.0) + torch.log1p(torch.exp(torch.where(above, -x, x)))


def gelu(x: Tensor) -> Tensor:
    # 1 + erf(u) = erfc(-u), which cancels nothing.
    return x * torch.erfc(x * -math.sqrt(0.5)) / 2


def gelu_tanh(x: Tensor) -> Tensor:
    # (1 + tanh u) / 2 = sigmoid(2 u), which cancels nothing.
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))


def hardsigmoid(x: Tensor) -> Tensor:
    return within(x / 6 + 0.5, 0.0, 1.0)


def hardshrink(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "hardshrink")
    return torch.where(x.abs() > call.attributes["threshold"], x, 0.0)


def softshrink(call: Call, x: Tensor) -> Tensor:
    threshold = call.attributes["threshold"]
    outside = torch.where(x > 0, x - threshold, x + threshold)
    return torch.where(x.abs() <= threshold, 0.0, outside)


def absolute(call: Call, x: Tensor) -> Tensor:
    if call.type.dtype in INTEGERS:
        undefined_where(x == least(call.type.dtype), "the absolute value of the least whole number")
    return x.abs()


def sign(call: Call, x: Tensor) -> Tensor:
    undefined_with_nan(x, "sign")
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def cast(call: Call, x: Tensor) -> Tensor:
    source, to = call.types[0].dtype, call.type.dtype
    if to in FLOATS:
        return x.to(torch.float64)
    if to == "bool":
        return x != 0
    if source in FLOATS:
        x = torch.trunc(x.detach())
        undefined_where(~((x >= least(to)) & (x < float(most(to)) + (to != "int64"))), f"{to} of what does not fit")
        return x.to(torch.int64)
    if source != "bool":
        undefined_where((x < least(to)) | (x > most(to)), f"{to} of what does not fit")
    return x.to(torch.int64)


def _divided(call: Call, a: Tensor, b: Tensor) -> Tensor:
    """Whole quotient, cut off towards 0."""
    undefined_where(b == 0, "a division of whole numbers by 0")
    undefined_where((a == least(call.type.dtype)) & (b == -1), "the least whole number divided by -1")
    return torch.div(a, b, rounding_mode="trunc")


def fmod(call: Call, a: Tensor, b: Tensor) -> Tensor:
    if call.type.dtype in INTEGERS:
        return a - b * _divided(call, a, b)
    undefined_where(b == 0, "a remainder of a division by 0")
    undefined_where(b.isinf() & a.isfinite(), "a remainder of a division by infinity")
    return torch.fmod(a, b)


def remainder(call: Call, a: Tensor, b: Tensor) -> Tensor:
    rest = fmod(call, a, b)
    return torch.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def floor_divide(call: Call, a: Tensor, b: Tensor) -> Tensor:
    quotient = _divided(call, a, b)
    rest = a - b * quotient
    return quotient - ((rest != 0) & ((rest < 0) != (b < 0))).to(torch.int64)


def _check_shifts(call: Call, shifts: Tensor) -> None:
    undefined_where((shifts < 0) | (shifts >= bits_of(call.type.dtype)), "a shift by as many bits as there are or more")


def left_shift(call: Call, a: Tensor, b: Tensor) -> Tensor:
    _check_shifts(call, b)
    return a << b


def right_shift(call: Call, a: Tensor, b: Tensor) -> Tensor:
    _check_shifts(call, b)
    return a >> b


def leaky_relu(call: Call, x: Tensor) -> Tensor:
    return torch.where(x > 0, x, call.attributes["alpha"] * x)


def prelu(x: Tensor, slope: Tensor) -> Tensor:
    above = x > 0
    return torch.where(above, x, along(slope, 1, x.dim()) * torch.where(above, 0.0, x))


def glu(call: Call, x: Tensor) -> Tensor:
    axis = call.attributes["axis"]
    half = x.shape[axis] // 2
    return x.narrow(axis, 0, half) * sigmoid(x.narrow(axis, half, half))


def dropout(call: Call, x: Tensor, mask: Tensor) -> Tensor:
    kept = 1 - float(call.attributes["rate"])
    return x * mask / kept


ACTIVATIONS: Mapping[str, Formula] = {
    "relu": plain(lambda x: not_below(x, 0.0)),
    "relu6": plain(lambda x: within(x, 0.0, 6.0)),
    "leaky_relu": leaky_relu,
    "elu": lambda call, x: exponential_below_0(x, call.attributes["alpha"]),
    "selu": plain(lambda x: SELU_SCALE * exponential_below_0(x, SELU_ALPHA)),
    "celu": lambda call, x: celu(x, call.attributes["alpha"]),
    "gelu": plain(gelu),
    "gelu_tanh": plain(gelu_tanh),
    "sigmoid": plain(sigmoid),
    "log_sigmoid": plain(lambda x: -softplus(-x)),
    "softplus": plain(softplus),
    "softsign": plain(lambda x: x / (1 + x.abs())),
    "hardsigmoid": plain(hardsigmoid),
    "hardswish": plain(lambda x: x * hardsigmoid(x)),
    "silu": plain(lambda x: x * sigmoid(x)),
    "mish": plain(lambda x: x * torch.tanh(softplus(x))),
    "hardshrink": hardshrink,
    "softshrink": softshrink,
    "clip": lambda call, x: within(x, call.attributes["low"], call.attributes["high"]),
    "prelu": plain(prelu),
    "glu": glu,
    "dropout": dropout,
}
NAMED_AS_IN_TORCH = (
    *("tanh", "neg", "square", "exp", "expm1", "log", "log1p", "log2", "sqrt", "sin", "cos", "tan", "asin", "acos"),
    *("atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "round", "trunc", "isnan", "isinf"),
    *("logical_not", "bitwise_not", "add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "not_equal"),
    *("less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and"),
    *("bitwise_or", "bitwise_xor", "where"),
)
ELEMENTWISE: Mapping[str, Formula] = {
    **ACTIVATIONS,
    **{name: plain(getattr(torch, name)) for name in NAMED_AS_IN_TORCH},
    "rsqrt": plain(lambda x: 1 / torch.sqrt(x)),
    "reciprocal": plain(lambda x: 1 / x),
    "equal": plain(torch.eq),
    "abs": absolute,
    "sign": sign,
    "cast": cast,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "fmod": fmod,
    "left_shift": left_shift,
    "right_shift": right_shift,
}
