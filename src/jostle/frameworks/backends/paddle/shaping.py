"""How Paddle moves elements."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import on, template
from jostle.frameworks.backends.tensorflow.shaping import slices

REDUCTIONS = {"add": "add", "mul": "mul", "max": "amax", "min": "amin"}
WIDE_OR_BOOL = "float32 float64 int32 int64 bool"  # what kernels are documented for, or registered
FORMATS = {3: "NCL", 4: "NCHW", 5: "NCDHW"}


def _reshape(call: Call) -> str:
    """Paddle documents 0 as the size that the input has at this place."""
    shape, given = call.type.shape, call.types[0].shape
    if any(size == 0 and given[at : at + 1] != (0,) for at, size in enumerate(shape)):
        raise Unsupported("reads a size of 0 as that of the input")
    return f"paddle.reshape({call[0]}, {list(shape)})"


def _joined(function: str) -> Expression:
    return lambda call: f"{function}([{', '.join(call.node.inputs)}], axis={call.literal('axis')})"


def _sliced(call: Call) -> str:
    return f"{call[0]}[{slices(*(call.attributes[name] for name in ('starts', 'sizes', 'steps')))}]"


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
    reduce, axis = REDUCTIONS[call.attributes["reduction"]], call.literal("axis")
    given = f'{call[0]}, {call[1]}, {call[2]}, axis={axis}, reduce="{reduce}"'
    return f"paddle.put_along_axis({given}, include_self=True, broadcast=False)"


def _depth_to_space(call: Call) -> str:
    block = call.attributes["block"]
    if call.attributes["mode"] == "crd" and call.type.is_float:
        return f"F.pixel_shuffle({call[0]}, {block})"
    batch, channels, height, width = call.types[0].shape
    dcr, kept = call.attributes["mode"] == "dcr", channels // block**2
    split = [batch, block, block, kept, height, width] if dcr else [batch, kept, block, block, height, width]
    moved = f"paddle.transpose(paddle.reshape({call[0]}, {split}), {[0, 3, 4, 1, 5, 2] if dcr else [0, 1, 4, 2, 5, 3]})"
    return f"paddle.reshape({moved}, {list(call.type.shape)})"


def _space_to_depth(call: Call) -> str:
    block = call.attributes["block"]
    batch, channels, height, width = call.types[0].shape
    split = f"paddle.reshape({call[0]}, {[batch, channels, height // block, block, width // block, block]})"
    return f"paddle.reshape(paddle.transpose({split}, [0, 3, 5, 1, 2, 4]), {list(call.type.shape)})"


def _top(place: int) -> Expression:
    return template(f"paddle.topk({{0}}, k={{k}}, axis={{axis}}, largest={{largest}})[{place}]")


_gather = template("paddle.take_along_axis({0}, {1}, axis={axis}, broadcast=False)")
# one_hot is missing as Paddle documents an exception where a position does not exist.
SHAPING: Mapping[str, Expression] = {
    "reshape": _reshape,
    "transpose": template("paddle.transpose({0}, {permutation})"),
    "squeeze": template("paddle.squeeze({0}, axis={axes})"),
    "unsqueeze": template("paddle.unsqueeze({0}, axis={axes})"),
    "expand": template("paddle.expand({0}, {shape})"),
    "concat": _joined("paddle.concat"),
    "stack": _joined("paddle.stack"),
    "slice": _sliced,
    "flip": on(WIDE_OR_BOOL, template("paddle.flip({0}, axis={axes})")),
    "roll": on(WIDE_OR_BOOL, template("paddle.roll({0}, shifts={shift}, axis={axis})")),
    "pad": _pad,
    "tile": template("paddle.tile({0}, {repeats})"),
    "gather": on(
        "float32 float64 int32 int64 uint8", template("paddle.take_along_axis({0}, {1}, axis={axis}, broadcast=False)")
    ),
    "take": on(WIDE_OR_BOOL, template("paddle.index_select({0}, {1}, axis={axis})")),
    "scatter": _scatter,
    "tril": on(WIDE_OR_BOOL, template("paddle.tril({0}, diagonal={diagonal})")),
    "triu": on(WIDE_OR_BOOL, template("paddle.triu({0}, diagonal={diagonal})")),
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
    "sort": template("paddle.sort({0}, axis={axis}, descending={descending})"),
    "topk_values": _top(0),
    "topk_indices": _top(1),
}
