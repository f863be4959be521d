"""How PyTensor computes each element alone, and combines elements along axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jostle.frameworks.backends.program import Call, Expression, Unsupported, literal


def number(value: Any, dtype: str) -> str:
    """A number of this dtype: PyTensor gives a plain one the dtype that holds it, and that may be a wider one."""
    return f"np.{dtype}({literal(value)})"


def filled_in(pattern: str) -> Expression:
    """A pattern with {a}, {b}, … for the inputs, attributes under their names, and {one}, {half} of the dtype."""

    def expression(call: Call) -> str:
        inputs = dict(zip("abcdef", call.node.inputs, strict=False))
        dtype = call.types[0].dtype
        told = {
            name: number(value, dtype) if isinstance(value, float) and call.types[0].is_float else literal(value)
            for name, value in call.attributes.items()
        }
        constants = {"zero": number(0, dtype), "one": number(1, dtype), "half": number(0.5, dtype)}
        everything = ", ".join(call.node.inputs)
        return pattern.format(**inputs, **told, **constants, all=everything, dtype=f"np.{dtype}")

    return expression


OF_ALL = {
    "sigmoid": "pt.sigmoid",
    "tanh": "pt.tanh",
    "softplus": "pt.softplus",
    "abs": "pt.abs",
    "neg": "pt.neg",
    "square": "pt.sqr",
    "exp": "pt.exp",
    "expm1": "pt.expm1",
    "log": "pt.log",
    "log1p": "pt.log1p",
    "log2": "pt.log2",
    "sqrt": "pt.sqrt",
    "reciprocal": "pt.reciprocal",
    "sin": "pt.sin",
    "cos": "pt.cos",
    "tan": "pt.tan",
    "asin": "pt.arcsin",
    "acos": "pt.arccos",
    "atan": "pt.arctan",
    "sinh": "pt.sinh",
    "cosh": "pt.cosh",
    "asinh": "pt.arcsinh",
    "acosh": "pt.arccosh",
    "atanh": "pt.arctanh",
    "erf": "pt.erf",
    "floor": "pt.floor",
    "ceil": "pt.ceil",
    "trunc": "pt.trunc",
    "sign": "pt.sign",
    "isnan": "pt.isnan",
    "isinf": "pt.isinf",
    "logical_not": "pt.invert",
    "bitwise_not": "pt.invert",
    "add": "pt.add",
    "sub": "pt.sub",
    "mul": "pt.mul",
    "div": "pt.true_div",
    "pow": "pt.pow",
    "maximum": "pt.maximum",
    "minimum": "pt.minimum",
    "atan2": "pt.arctan2",
    "floor_divide": "pt.int_div",
    "remainder": "pt.mod",
    "equal": "pt.eq",
    "not_equal": "pt.neq",
    "less": "pt.lt",
    "less_equal": "pt.le",
    "greater": "pt.gt",
    "greater_equal": "pt.ge",
    "logical_and": "pt.and_",
    "logical_or": "pt.or_",
    "logical_xor": "pt.xor",
    "bitwise_and": "pt.and_",
    "bitwise_or": "pt.or_",
    "bitwise_xor": "pt.xor",
    "where": "pt.where",
}
PATTERNS = {
    "relu": "pt.maximum({a}, {zero})",
    "relu6": "pt.clip({a}, {zero}, {dtype}(6))",
    "leaky_relu": "pt.switch({a} > 0, {a}, {alpha} * {a})",
    "elu": "pt.switch({a} > 0, {a}, {alpha} * pt.expm1({a}))",
    "selu": "{dtype}(1.0507009873554805) * pt.switch({a} > 0, {a}, {dtype}(1.6732632423543772) * pt.expm1({a}))",
    "celu": "pt.maximum({a}, {zero}) + pt.minimum({alpha} * pt.expm1({a} / {alpha}), {zero})",
    "gelu": "{a} * ({one} + pt.erf({a} / {dtype}(2**0.5))) * {half}",
    "gelu_tanh": "{a} * ({one} + pt.tanh({dtype}((2 / np.pi) ** 0.5) * ({a} + {dtype}(0.044715) * {a} ** 3))) * {half}",
    "log_sigmoid": "-pt.softplus(-{a})",
    "softsign": "{a} / ({one} + pt.abs({a}))",
    "hardsigmoid": "pt.clip({a} / {dtype}(6) + {half}, {zero}, {one})",
    "hardswish": "{a} * pt.clip({a} / {dtype}(6) + {half}, {zero}, {one})",
    "silu": "{a} * pt.sigmoid({a})",
    "mish": "{a} * pt.tanh(pt.softplus({a}))",
    "hardshrink": "pt.switch(pt.abs({a}) > {threshold}, {a}, {zero})",
    "softshrink": "pt.sign({a}) * pt.maximum(pt.abs({a}) - {threshold}, {zero})",
    "rsqrt": "{one} / pt.sqrt({a})",
    "clip": "pt.clip({a}, {low}, {high})",
    "round": 'pt.round({a}, mode="half_to_even")',
    "cast": "pt.cast({a}, {to})",
    "argmax": "pt.argmax({a}, axis={axis}, keepdims={keepdims})",
    "argmin": "pt.argmin({a}, axis={axis}, keepdims={keepdims})",
    "cumprod": "pt.cumprod({a}, axis={axis})",
    "softmax": "pt.special.softmax({a}, axis={axis})",
    "log_softmax": "pt.special.log_softmax({a}, axis={axis})",
}
OVER_AXES = {
    "mean": "pt.mean({a}, {over})",
    "max": "pt.max({a}, {over})",
    "min": "pt.min({a}, {over})",
    "l1_norm": "pt.sum(pt.abs({a}), {over})",
    "l2_norm": "pt.sqrt(pt.sum(pt.sqr({a}), {over}))",
    "logsumexp": "pt.logsumexp({a}, {over})",
    "var": "pt.var({a}, {over}, ddof={correction})",
    "std": "pt.std({a}, {over}, ddof={correction})",
    "all": "pt.all({a}, {over})",
    "any": "pt.any({a}, {over})",
    "count_nonzero": 'pt.sum(pt.neq({a}, 0), {over}, dtype="int64")',
    # PyTensor sums narrow whole numbers in wider ones unless told.
    "sum": "pt.sum({a}, {over}, dtype={dtype})",
    "prod": "pt.prod({a}, {over}, dtype={dtype})",
}


def _over_axes(pattern: str) -> Expression:
    def expression(call: Call) -> str:
        over = f"axis={literal(tuple(call.attributes['axes']))}, keepdims={call.literal('keepdims')}"
        return pattern.format(
            a=call[0], over=over, dtype=repr(call.type.dtype), correction=call.attributes.get("correction")
        )

    return expression


def _cumsum(call: Call) -> str:
    axis = call.attributes["axis"]
    if call.attributes["exclusive"]:
        raise Unsupported("has no exclusive cumsum")
    if call.attributes["reverse"]:
        return f"pt.flip(pt.cumsum(pt.flip({call[0]}, {axis}), axis={axis}), {axis})"
    return f"pt.cumsum({call[0]}, axis={axis})"


ELEMENTS: Mapping[str, Expression] = {
    **{name: filled_in(f"{function}({{all}})") for name, function in OF_ALL.items()},
    **{name: filled_in(pattern) for name, pattern in PATTERNS.items()},
    **{name: _over_axes(pattern) for name, pattern in OVER_AXES.items()},
    "cumsum": _cumsum,
}
