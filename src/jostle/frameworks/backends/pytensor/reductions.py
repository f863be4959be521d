"""How PyTensor combines the elements along axes, and puts them in order."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import over_axes
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.pytensor.filling import all_filled_in, filled_in


def _cumsum(call: Call) -> str:
    axis = call.attributes["axis"]
    if call.attributes["exclusive"]:
        raise Unsupported("has no exclusive cumsum")
    if call.attributes["reverse"]:
        return f"pt.flip(pt.cumsum(pt.flip({call[0]}, {axis}), axis={axis}), {axis})"
    return f"pt.cumsum({call[0]}, axis={axis})"


def _sort(call: Call) -> str:
    axis = call.attributes["axis"]
    ordered = f"pt.sort({call[0]}, axis={axis})"
    return f"pt.flip({ordered}, {axis})" if call.attributes["descending"] else ordered


def _top(function: str) -> Expression:
    def expression(call: Call) -> str:
        axis, count = call.attributes["axis"], call.attributes["k"]
        ordered = f"{function}({call[0]}, axis={axis})"
        wanted = f"pt.flip({ordered}, {axis})" if call.attributes["largest"] else ordered
        return f"{wanted}[{':, ' * axis}:{count}]"

    return expression


REDUCTIONS: Mapping[str, Expression] = {
    **numpy_like.reductions("pt", filled_in),
    **all_filled_in(
        {
            "cumprod": "pt.cumprod({0}, axis={axis})",
            "softmax": "pt.special.softmax({0}, axis={axis})",
            "log_softmax": "pt.special.log_softmax({0}, axis={axis})",
        }
    ),
    "l1_norm": over_axes("pt.sum(pt.abs({0}), {over})"),
    "l2_norm": over_axes("pt.sqrt(pt.sum(pt.sqr({0}), {over}))"),
    "logsumexp": over_axes("pt.logsumexp({0}, {over})"),
    "var": over_axes("pt.var({0}, {over}, ddof={correction})"),
    "std": over_axes("pt.std({0}, {over}, ddof={correction})"),
    "count_nonzero": over_axes('pt.sum(pt.neq({0}, 0), {over}, dtype="int64")'),
    "cumsum": _cumsum,
    "sort": _sort,
    "topk_values": _top("pt.sort"),
    "topk_indices": _top("pt.argsort"),
}
