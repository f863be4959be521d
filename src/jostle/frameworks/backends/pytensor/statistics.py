"""How PyTensor describes the elements along axes."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.numpy_like import over_axes
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.pytensor.filling import all_filled_in
from jostle.frameworks.backends.templates import fill


def _argsort(call: Call) -> str:
    axis = call.attributes["axis"]
    if not call.attributes["descending"]:
        return f'pt.argsort({call[0]}, axis={axis}, kind="stable")'
    size = call.type.shape[axis]
    backwards = f'pt.flip(pt.argsort(pt.flip({call[0]}, {axis}), axis={axis}, kind="stable"), {axis})'
    return f"{size - 1} - {backwards}"


def _bucketize(call: Call) -> str:
    side = "right" if call.attributes["right"] else "left"
    return fill(f'pt.searchsorted(np.array({{boundaries}}), {{0}}, side="{side}").astype("int64")', call)


STATISTICS: Mapping[str, Expression] = {
    **all_filled_in({"diff": "pt.diff({0}, n={n}, axis={axis})"}),
    "sum_square": over_axes("pt.sum(pt.sqr({0}), {over}, dtype={dtype})"),
    "log_sum": over_axes("pt.log(pt.sum({0}, {over}))"),
    "argsort": _argsort,
    "bucketize": _bucketize,
}
