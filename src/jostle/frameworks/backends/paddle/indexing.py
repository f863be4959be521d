"""How Paddle moves elements along axes, and goes by positions that a tensor names."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import on, sliced, template

REDUCE = {"add": "add", "mul": "mul", "max": "amax", "min": "amin"}
WIDE_OR_BOOL = "float32 float64 int32 int64 bool"  # what kernels are documented for, or registered
FORMATS = {3: "NCL", 4: "NCHW", 5: "NCDHW"}


def _pad(call: Call) -> str:
    mode, before, after = (call.attributes[name] for name in ("mode", "before", "after"))
    if mode == "constant":
        if min(*before, *after) < 0:
            raise Unsupported("documents no negative padding")
        each = [size for pair in zip(before, after, strict=True) for size in pair]
        return f'F.pad({call[0]}, {each}, mode="constant", value={call.literal("value")})'
    if call.type.rank not in FORMATS or any((*before[:2], *after[:2])):
        raise Unsupported("repeats elements of the last axes of images only")
    pairs = reversed(list(zip(before[2:], after[2:], strict=True)))
    each = [size for pair in pairs for size in pair]
    return f'F.pad({call[0]}, {each}, mode="{mode}", data_format="{FORMATS[call.type.rank]}")'


def _scatter(call: Call) -> str:
    reduce, axis = REDUCE[call.attributes["reduction"]], call.literal("axis")
    given = f'{call[0]}, {call[1]}, {call[2]}, axis={axis}, reduce="{reduce}"'
    return f"paddle.put_along_axis({given}, include_self=True, broadcast=False)"


# one_hot is missing as Paddle documents an exception where a position does not exist.
INDEXING: Mapping[str, Expression] = {
    "slice": sliced,
    "flip": on(WIDE_OR_BOOL, template("paddle.flip({0}, axis={axes})")),
    "roll": on(WIDE_OR_BOOL, template("paddle.roll({0}, shifts={shift}, axis={axis})")),
    "pad": _pad,
    "tile": on(WIDE_OR_BOOL, template("paddle.tile({0}, {repeats})")),
    "gather": on(
        "float32 float64 int32 int64 uint8", template("paddle.take_along_axis({0}, {1}, axis={axis}, broadcast=False)")
    ),
    "take": on(WIDE_OR_BOOL, template("paddle.index_select({0}, {1}, axis={axis})")),
    "scatter": _scatter,
}
