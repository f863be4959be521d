"""How JAX computes each element alone, and combines elements along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, literal


def of_all(function: str) -> Expression:
    """The function of a node's inputs, in their order."""
    return lambda call: f"{function}({', '.join(call.node.inputs)})"


def filled_in(pattern: str) -> Expression:
    """A pattern with {a}, {b}, … for the inputs, and the attributes under their names."""

    def expression(call: Call) -> str:
        inputs = dict(zip("abcdef", call.node.inputs, strict=False))
        return pattern.format(**inputs, **{name: literal(value) for name, value in call.attributes.items()})

    return expression


OF_ALL = {
    "relu": "jax.nn.relu",
    "relu6": "jax.nn.relu6",
    "selu": "jax.nn.selu",
    "sigmoid": "jax.nn.sigmoid",
    "log_sigmoid": "jax.nn.log_sigmoid",
    "tanh": "jnp.tanh",
    "softplus": "jax.nn.softplus",
    "softsign": "jax.nn.soft_sign",
    "hardsigmoid": "jax.nn.hard_sigmoid",
    "hardswish": "jax.nn.hard_swish",
    "silu": "jax.nn.silu",
    "mish": "jax.nn.mish",
    "abs": "jnp.abs",
    "neg": "jnp.negative",
    "square": "jnp.square",
    "exp": "jnp.exp",
    "expm1": "jnp.expm1",
    "log": "jnp.log",
    "log1p": "jnp.log1p",
    "log2": "jnp.log2",
    "sqrt": "jnp.sqrt",
    "rsqrt": "lax.rsqrt",
    "reciprocal": "jnp.reciprocal",
    "sin": "jnp.sin",
    "cos": "jnp.cos",
    "tan": "jnp.tan",
    "asin": "jnp.asin",
    "acos": "jnp.acos",
    "atan": "jnp.atan",
    "sinh": "jnp.sinh",
    "cosh": "jnp.cosh",
    "asinh": "jnp.asinh",
    "acosh": "jnp.acosh",
    "atanh": "jnp.atanh",
    "erf": "lax.erf",
    "floor": "jnp.floor",
    "ceil": "jnp.ceil",
    "round": "jnp.round",
    "trunc": "jnp.trunc",
    "sign": "jnp.sign",
    "isnan": "jnp.isnan",
    "isinf": "jnp.isinf",
    "logical_not": "jnp.logical_not",
    "bitwise_not": "jnp.bitwise_not",
    "add": "jnp.add",
    "sub": "jnp.subtract",
    "mul": "jnp.multiply",
    "div": "jnp.divide",
    "pow": "jnp.power",
    "maximum": "jnp.maximum",
    "minimum": "jnp.minimum",
    "atan2": "jnp.atan2",
    "floor_divide": "jnp.floor_divide",
    "remainder": "jnp.remainder",
    "fmod": "jnp.fmod",
    "equal": "jnp.equal",
    "not_equal": "jnp.not_equal",
    "less": "jnp.less",
    "less_equal": "jnp.less_equal",
    "greater": "jnp.greater",
    "greater_equal": "jnp.greater_equal",
    "logical_and": "jnp.logical_and",
    "logical_or": "jnp.logical_or",
    "logical_xor": "jnp.logical_xor",
    "bitwise_and": "jnp.bitwise_and",
    "bitwise_or": "jnp.bitwise_or",
    "bitwise_xor": "jnp.bitwise_xor",
    "left_shift": "jnp.left_shift",
    "right_shift": "jnp.right_shift",
    "where": "jnp.where",
}
PATTERNS = {
    "leaky_relu": "jax.nn.leaky_relu({a}, {alpha})",
    "elu": "jax.nn.elu({a}, {alpha})",
    "celu": "jax.nn.celu({a}, {alpha})",
    "gelu": "jax.nn.gelu({a}, approximate=False)",
    "gelu_tanh": "jax.nn.gelu({a}, approximate=True)",
    "hardshrink": "jnp.where(jnp.abs({a}) > {threshold}, {a}, 0)",
    "softshrink": "jnp.sign({a}) * jnp.maximum(jnp.abs({a}) - {threshold}, 0)",
    "clip": "jnp.clip({a}, {low}, {high})",
    "cast": "{a}.astype({to})",
    "argmax": "jnp.argmax({a}, axis={axis}, keepdims={keepdims})",
    "argmin": "jnp.argmin({a}, axis={axis}, keepdims={keepdims})",
    "cumprod": "lax.cumprod({a}, axis={axis})",
    "cummax": "lax.cummax({a}, axis={axis})",
    "logcumsumexp": "lax.cumlogsumexp({a}, axis={axis})",
    "softmax": "jax.nn.softmax({a}, axis={axis})",
    "log_softmax": "jax.nn.log_softmax({a}, axis={axis})",
}
OVER_AXES = {
    "mean": "jnp.mean({a}, {over})",
    "max": "jnp.max({a}, {over})",
    "min": "jnp.min({a}, {over})",
    "l1_norm": "jnp.linalg.vector_norm({a}, ord=1, {over})",
    "l2_norm": "jnp.linalg.vector_norm({a}, ord=2, {over})",
    "logsumexp": "jax.nn.logsumexp({a}, {over})",
    "var": "jnp.var({a}, {over}, correction={correction})",
    "std": "jnp.std({a}, {over}, correction={correction})",
    "all": "jnp.all({a}, {over})",
    "any": "jnp.any({a}, {over})",
    "count_nonzero": "jnp.count_nonzero({a}, {over})",
    # JAX, as numpy, sums narrow whole numbers in wider ones unless told.
    "sum": "jnp.sum({a}, {over}, dtype={dtype})",
    "prod": "jnp.prod({a}, {over}, dtype={dtype})",
}


def _over_axes(pattern: str) -> Expression:
    def expression(call: Call) -> str:
        over = f"axis={literal(tuple(call.attributes['axes']))}, keepdims={call.literal('keepdims')}"
        return pattern.format(
            a=call[0], over=over, dtype=repr(call.type.dtype), correction=call.attributes.get("correction")
        )

    return expression


def _cumsum(call: Call) -> str:
    axis, reverse = call.attributes["axis"], call.attributes["reverse"]
    summed = call[0]
    if call.attributes["exclusive"]:
        shifts = [(0, 0, 0)] * call.type.rank
        shifts[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
        summed = f"lax.pad({summed}, jnp.zeros((), {call.type.dtype!r}), {shifts})"
    return f"lax.cumsum({summed}, axis={axis}, reverse={reverse})"


ELEMENTS: Mapping[str, Expression] = {
    **{name: of_all(function) for name, function in OF_ALL.items()},
    **{name: filled_in(pattern) for name, pattern in PATTERNS.items()},
    **{name: _over_axes(pattern) for name, pattern in OVER_AXES.items()},
    "cumsum": _cumsum,
}
