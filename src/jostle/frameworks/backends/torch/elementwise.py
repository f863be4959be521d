"""How torch computes operators that treat every element alone, and those that combine elements along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, literal
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
        }
    ),
    "softplus": _softplus,
}


def _wide(function: str, arguments: str) -> Expression:
    """torch sums narrow whole numbers as int64 unless told."""

    def expression(call: Call) -> str:
        told = ", dtype=torch.{dtype}" if call.type.dtype == "int32" else ""
        return fill(f"torch.{function}({{0}}, {arguments}{told})", call)

    return expression


def _prod(call: Call) -> str:
    """torch.prod takes one axis at a time."""
    told = ", dtype=torch.{dtype}" if call.type.dtype == "int32" else ""
    text = "{0}"
    for axis in reversed(call.attributes["axes"]):
        text = f"torch.prod({text}, dim={axis}, keepdim={{keepdims}}{told})"
    return fill(text, call)


def _count_nonzero(call: Call) -> str:
    text = fill("torch.count_nonzero({0}, dim={axes})", call)
    return f"{text}.reshape({literal(call.type.shape)})" if call.attributes["keepdims"] else text


def _cumsum(call: Call) -> str:
    axis, text = call.attributes["axis"], "{0}"
    if call.attributes["reverse"]:
        text = f"torch.flip({text}, [{axis}])"
    if call.attributes["exclusive"] and call.type.shape[axis]:
        later = [0] * (2 * (call.type.rank - axis - 1))
        text = f"F.pad({text}, {[*later, 1, -1]})"
    told = ", dtype=torch.{dtype}" if call.type.dtype == "int32" else ""
    text = f"torch.cumsum({text}, dim={axis}{told})"
    return fill(f"torch.flip({text}, [{axis}])" if call.attributes["reverse"] else text, call)


OVER_AXES = "dim={axes}, keepdim={keepdims}"
REDUCTIONS: Mapping[str, Expression] = {
    **templates(
        {
            "mean": f"torch.mean({{0}}, {OVER_AXES})",
            "max": f"torch.amax({{0}}, {OVER_AXES})",
            "min": f"torch.amin({{0}}, {OVER_AXES})",
            "l1_norm": f"torch.linalg.vector_norm({{0}}, 1, {OVER_AXES})",
            "l2_norm": f"torch.linalg.vector_norm({{0}}, 2, {OVER_AXES})",
            "logsumexp": f"torch.logsumexp({{0}}, {OVER_AXES})",
            "var": f"torch.var({{0}}, {OVER_AXES}, correction={{correction}})",
            "std": f"torch.std({{0}}, {OVER_AXES}, correction={{correction}})",
            "all": f"torch.all({{0}}, {OVER_AXES})",
            "any": f"torch.any({{0}}, {OVER_AXES})",
            "argmax": "torch.argmax({0}, dim={axis}, keepdim={keepdims})",
            "argmin": "torch.argmin({0}, dim={axis}, keepdim={keepdims})",
            "cummax": "torch.cummax({0}, dim={axis}).values",
            "logcumsumexp": "torch.logcumsumexp({0}, dim={axis})",
            "softmax": "torch.softmax({0}, dim={axis})",
            "log_softmax": "torch.log_softmax({0}, dim={axis})",
        }
    ),
    "sum": _wide("sum", OVER_AXES),
    "prod": _prod,
    "count_nonzero": _count_nonzero,
    "cumsum": _cumsum,
    "cumprod": _wide("cumprod", "dim={axis}"),
}
