"""How Paddle combines the elements along axes, and puts them in order."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import template


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


def _top(place: int) -> Expression:
    return template(f"paddle.topk({{0}}, k={{k}}, axis={{axis}}, largest={{largest}})[{place}]")


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
    "sort": template("paddle.sort({0}, axis={axis}, descending={descending})"),
    "topk_values": _top(0),
    "topk_indices": _top(1),
}
