"""How TensorFlow computes operators that treat every element alone."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import named, template


def per_channel(call: Call, place: int) -> str:
    """An input of one number per channel, so that it is broadcast along the second axis."""
    return call[place] if call.type.rank == 2 else f"tf.reshape({call[place]}, {[-1, *[1] * (call.type.rank - 2)]})"


def _prelu(call: Call) -> str:
    return f"tf.where({call[0]} > 0, {call[0]}, {per_channel(call, 1)} * {call[0]})"


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
    "prelu": _prelu,
    "glu": template("tf.keras.activations.glu({0}, axis={axis})"),
    "dropout": template("tf.where({1}, {0} / (1 - {rate}), 0)"),
}
