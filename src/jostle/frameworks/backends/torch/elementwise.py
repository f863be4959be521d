"""How torch computes operators that treat every element alone."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill, template, templates

SAME_NAME = (
    *("relu", "selu", "sigmoid", "tanh", "abs", "neg", "square", "exp", "expm1", "log", "log1p", "log2", "sqrt"),
    *("rsqrt", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
    *("erf", "floor", "ceil", "round", "trunc", "sign", "isnan", "isinf", "logical_not", "bitwise_not"),
)
FUNCTIONAL = ("relu6", "gelu", "softsign", "hardsigmoid", "hardswish", "silu", "mish")
ALIKE = (
    *("add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "floor_divide", "remainder", "fmod"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
)
PAIRS = {
    **{name: name for name in ALIKE},
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}


def _softplus(call: Call) -> str:
    """torch takes x itself above a threshold, by default one at which a float64 still tells the difference."""
    return fill("F.softplus({0}, threshold=40)" if call.type.dtype == "float64" else "F.softplus({0})", call)


ELEMENTWISE: Mapping[str, Expression] = {
    **{name: template(f"torch.{name}({{0}})") for name in SAME_NAME},
    **{name: template(f"F.{name}({{0}})") for name in FUNCTIONAL},
    **{name: template(f"torch.{function}({{0}}, {{1}})") for name, function in PAIRS.items()},
    **templates(
        {
            "leaky_relu": "F.leaky_relu({0}, {alpha})",
            "elu": "F.elu({0}, {alpha})",
            "celu": "F.celu({0}, {alpha})",
            "gelu_tanh": 'F.gelu({0}, approximate="tanh")',
            "log_sigmoid": "F.logsigmoid({0})",
            "hardshrink": "F.hardshrink({0}, {threshold})",
            "softshrink": "F.softshrink({0}, {threshold})",
            "clip": "torch.clamp({0}, {low}, {high})",
            "cast": "{0}.to(torch.{dtype})",
            "where": "torch.where({0}, {1}, {2})",
            "prelu": "F.prelu({0}, {1})",
            "glu": "F.glu({0}, dim={axis})",
            "dropout": "{0} * {1} / (1 - {rate})",  # F.dropout draws its own mask
        }
    ),
    "softplus": _softplus,
}
