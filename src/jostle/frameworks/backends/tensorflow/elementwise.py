"""How TensorFlow computes operators that treat elements alone or combine them along axes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import named, template


def _reduction(function: str) -> Expression:
    return template(f"{function}({{0}}, axis={{axes}}, keepdims={{keepdims}})")


def _along(function: str) -> Expression:
    return template(f"{function}({{0}}, axis={{axis}})")


def _position(function: str) -> Expression:
    """TensorFlow's positions keep no axis."""

    def expression(call: Call) -> str:
        found = f"{function}({call[0]}, axis={call.literal('axis')})"
        return f"tf.expand_dims({found}, axis={call.literal('axis')})" if call.attributes["keepdims"] else found

    return expression


def _l1_norm(call: Call) -> str:
    axes, keepdims = call.attributes["axes"], call.literal("keepdims")
    if len(axes) == 1:
        return f"tf.norm({call[0]}, ord=1, axis={axes[0]}, keepdims={keepdims})"
    return f"tf.reduce_sum(tf.abs({call[0]}), axis={axes}, keepdims={keepdims})"


def _variance(call: Call) -> str:
    axes, keepdims, x = call.attributes["axes"], call.literal("keepdims"), call[0]
    if call.attributes["correction"] == 0:
        return f"tf.math.reduce_variance({x}, axis={axes}, keepdims={keepdims})"
    count = math.prod(call.types[0].shape[axis] for axis in axes)
    squares = f"tf.math.squared_difference({x}, tf.reduce_mean({x}, axis={axes}, keepdims=True))"
    return f"tf.reduce_sum({squares}, axis={axes}, keepdims={keepdims}) / {count - 1}"


def _deviation(call: Call) -> str:
    if call.attributes["correction"] == 0:
        return _reduction("tf.math.reduce_std")(call)
    return f"tf.sqrt({_variance(call)})"


ELEMENTWISE: Mapping[str, Expression] = {
    **named("tf.nn.", "relu relu6 selu gelu softplus softsign silu"),
    **named("tf.keras.activations.", "hardsigmoid=hard_sigmoid hardswish=hard_silu mish"),
    **named("tf.keras.ops.", "log2 trunc"),
    **named(
        "tf.math.",
        "sigmoid log_sigmoid tanh abs neg=negative square exp expm1 log log1p sqrt rsqrt reciprocal sin cos tan asin "
        "acos atan sinh cosh asinh acosh atanh erf floor ceil round sign isnan=is_nan isinf=is_inf logical_not "
        "add sub=subtract mul=multiply div=divide pow maximum minimum atan2 floor_divide=floordiv remainder=floormod "
        "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor",
    ),
    **named("tf.bitwise.", "bitwise_not=invert bitwise_and bitwise_or bitwise_xor left_shift right_shift"),
    **named("tf.", "fmod=truncatemod where"),
    "leaky_relu": template("tf.nn.leaky_relu({0}, alpha={alpha})"),
    "elu": template("tf.keras.activations.elu({0}, alpha={alpha})"),
    "celu": template("tf.keras.activations.celu({0}, alpha={alpha})"),
    "gelu_tanh": template("tf.nn.gelu({0}, approximate=True)"),
    "hardshrink": template("tf.keras.activations.hard_shrink({0}, threshold={threshold})"),
    "softshrink": template("tf.keras.activations.soft_shrink({0}, threshold={threshold})"),
    "clip": template("tf.clip_by_value({0}, {low}, {high})"),
    "cast": template("tf.cast({0}, tf.{dtype})"),
}
REDUCTIONS: Mapping[str, Expression] = {
    **{name: _reduction(f"tf.reduce_{name}") for name in ("sum", "mean", "prod", "max", "min", "all", "any")},
    "l1_norm": _l1_norm,
    "l2_norm": _reduction("tf.math.reduce_euclidean_norm"),
    "logsumexp": _reduction("tf.reduce_logsumexp"),
    "var": _variance,
    "std": _deviation,
    "count_nonzero": _reduction("tf.math.count_nonzero"),
    "argmax": _position("tf.argmax"),
    "argmin": _position("tf.argmin"),
    "cumsum": template("tf.cumsum({0}, axis={axis}, exclusive={exclusive}, reverse={reverse})"),
    "cumprod": _along("tf.math.cumprod"),
    "cummax": template("tf.keras.ops.associative_scan(tf.maximum, {0}, axis={axis})"),
    "logcumsumexp": _along("tf.math.cumulative_logsumexp"),
    "softmax": _along("tf.nn.softmax"),
    "log_softmax": _along("tf.nn.log_softmax"),
}
