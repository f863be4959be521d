"""How Paddle computes operators that treat every element alone."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.paddle.indexing import WIDE_OR_BOOL
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import fill, named, template


def _where(call: Call) -> str:
    if call.type.dtype not in WIDE_OR_BOOL.split():
        raise Unsupported(f"has no where of {call.type.dtype}")
    return fill("paddle.where({0}, {1}, {2})", call)


ELEMENTWISE: Mapping[str, Expression] = {
    **named("F.", "relu relu6 selu gelu sigmoid log_sigmoid tanh softsign hardswish silu mish"),
    **named(
        "paddle.",
        "abs neg square exp expm1 log log1p log2 sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh asinh "
        "acosh atanh erf floor ceil round trunc sign isnan isinf logical_not bitwise_not add sub=subtract mul=multiply "
        "div=divide pow maximum minimum atan2 floor_divide remainder equal not_equal less=less_than less_equal "
        "greater=greater_than greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
        "left_shift=bitwise_left_shift right_shift=bitwise_right_shift",
    ),
    "leaky_relu": template("F.leaky_relu({0}, negative_slope={alpha})"),
    "elu": template("F.elu({0}, alpha={alpha})"),
    "celu": template("F.celu({0}, alpha={alpha})"),
    "gelu_tanh": template("F.gelu({0}, approximate=True)"),
    # By default Paddle documents x itself above 20, which float64 can tell from log(1 + exp(x)).
    "softplus": template("F.softplus({0}, threshold=40)"),
    "hardsigmoid": template("F.hardsigmoid({0}, slope=1 / 6, offset=0.5)"),
    "hardshrink": template("F.hardshrink({0}, threshold={threshold})"),
    "softshrink": template("F.softshrink({0}, threshold={threshold})"),
    "clip": template("paddle.clip({0}, min={low}, max={high})"),
    "cast": template('paddle.cast({0}, "{dtype}")'),
    "prelu": template("F.prelu({0}, {1})"),
    "where": _where,
    "glu": template("F.glu({0}, axis={axis})"),
    "dropout": template('{0} * paddle.cast({1}, "{dtype}") / (1 - {rate})'),
}
