"""How Paddle picks, fills and adds up elements by positions."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.paddle.indexing import WIDE_OR_BOOL
from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill, on, template, templates


def _embedding_bag(call: Call) -> str:
    return f"paddle.{call.attributes['mode']}(F.embedding({call[1]}, {call[0]}), axis=1)"


SELECTION: Mapping[str, Expression] = {
    **templates(
        {
            "masked_fill": "paddle.masked_fill({0}, {1}, {value})",
            "index_add": "paddle.index_add({0}, {1}, {axis}, {2})",
            "scatter_mean": 'paddle.put_along_axis({0}, {1}, {2}, axis={axis}, reduce="mean", broadcast=False)',
            "scatter_nd_add": "paddle.scatter_nd_add({0}, {1}, {2})",
            "diag_embed": "paddle.diag_embed({0}, offset={offset})",
        }
    ),
    "gather_nd": on(WIDE_OR_BOOL, template("paddle.gather_nd({0}, {1})")),
    "embedding_bag": _embedding_bag,
    "diagonal": on(WIDE_OR_BOOL, template("paddle.diagonal({0}, {offset}, -2, -1)")),
    "repeat_interleave": on(
        "float32 float64 int32 int64", template("paddle.repeat_interleave({0}, {times}, axis={axis})")
    ),
    "rot90": on(WIDE_OR_BOOL, template("paddle.rot90({0}, {times}, [0, 1])")),
    "movedim": on(WIDE_OR_BOOL, template("paddle.moveaxis({0}, {source}, {target})")),
    "roll_all": on(
        WIDE_OR_BOOL, lambda call: fill(f"paddle.roll({{0}}, {{shifts}}, axis={list(range(call.type.rank))})", call)
    ),
}
