"""How TensorFlow combines the elements along axes, and puts them in order."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import template


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


def _sort(call: Call) -> str:
    direction = "DESCENDING" if call.attributes["descending"] else "ASCENDING"
    return f'tf.sort({call[0]}, axis={call.literal("axis")}, direction="{direction}")'


def _top(part: str) -> Expression:
    """TensorFlow finds the largest along the last axis only."""

    def expression(call: Call) -> str:
        axis, last = call.attributes["axis"], call.type.rank - 1
        order = [axis if at == last else last if at == axis else at for at in range(last + 1)]
        given = call[0] if axis == last else f"tf.transpose({call[0]}, {order})"
        sign = "" if call.attributes["largest"] else "-"
        index_type = ", index_type=tf.int64" if part == "indices" else ""
        found = f"tf.math.top_k({sign}{given}, k={call.literal('k')}{index_type}).{part}"
        found = f"{sign}{found}" if part == "values" else found
        return found if axis == last else f"tf.transpose({found}, {order})"

    return expression


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
    "sort": _sort,
    "topk_values": _top("values"),
    "topk_indices": _top("indices"),
}
