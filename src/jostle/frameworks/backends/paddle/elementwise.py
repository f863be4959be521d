"""How Paddle computes operators that treat elements alone or combine them along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import named, template


def _reduction(function: str, more: str = "") -> Expression:
    return template(f"paddle.{function}({{0}}{more}, axis={{axes}}, keepdim={{keepdims}})")


def _along(function: str) -> Expression:
    return template(f"{function}({{0}}, axis={{axis}})")


def _spread(function: str) -> Expression:
    def expression(call: Call) -> str:
        unbiased = call.attributes["correction"] == 1
        return _reduction(function, f", unbiased={unbiased}")(call)

    return expression


def _logsumexp(call: Call) -> str:
    if call.types[0].rank > 4:
        raise Unsupported("documents logsumexp of at most 4 axes")
    return _reduction("logsumexp")(call)


def _cumsum(call: Call) -> str:
    if call.attributes["exclusive"]:
        raise Unsupported("has no exclusive cumsum")
    axis, dtype = call.literal("axis"), call.type.dtype
    if not call.attributes["reverse"]:
        return f'paddle.cumsum({call[0]}, axis={axis}, dtype="{dtype}")'
    return f'paddle.flip(paddle.cumsum(paddle.flip({call[0]}, {axis}), axis={axis}, dtype="{dtype}"), {axis})'


ELEMENTWISE: Mapping[str, Expression] = {
    **named("F.", "relu relu6 selu gelu sigmoid log_sigmoid tanh softsign hardswish silu mish"),
    **named(
        "paddle.",
        "abs neg square exp expm1 log log1p log2 sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh asinh "
        "acosh atanh erf floor ceil round trunc sign isnan isinf logical_not bitwise_not add sub=subtract mul=multiply "
        "div=divide pow maximum minimum atan2 floor_divide remainder equal not_equal less=less_than less_equal "
        "greater=greater_than greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
        "left_shift=bitwise_left_shift right_shift=bitwise_right_shift where",
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
}
REDUCTIONS: Mapping[str, Expression] = {
    **{name: _reduction(name) for name in ("mean", "max", "min", "all", "any", "count_nonzero")},
    "sum": _reduction("sum", ', dtype="{dtype}"'),
    "prod": _reduction("prod", ', dtype="{dtype}"'),
    "l1_norm": _reduction("linalg.vector_norm", ", p=1"),
    "l2_norm": _reduction("linalg.vector_norm", ", p=2"),
    "logsumexp": _logsumexp,
    "var": _spread("var"),
    "std": _spread("std"),
    "argmax": template("paddle.argmax({0}, axis={axis}, keepdim={keepdims})"),
    "argmin": template("paddle.argmin({0}, axis={axis}, keepdim={keepdims})"),
    "cumsum": _cumsum,
    "cumprod": template("paddle.cumprod({0}, dim={axis})"),
    "cummax": template("paddle.cummax({0}, axis={axis})[0]"),
    "logcumsumexp": _along("paddle.logcumsumexp"),
    "softmax": _along("F.softmax"),
    "log_softmax": _along("F.log_softmax"),
}
