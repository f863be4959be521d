"""How Paddle reshapes, transposes and joins tensors, and goes by rows and columns."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.paddle.indexing import WIDE_OR_BOOL
from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.templates import joined, on, template


def _reshape(call: Call) -> str:
    """Paddle documents 0 as the size that the input has at this place."""
    shape, given = call.type.shape, call.types[0].shape
    if any(size == 0 and given[at : at + 1] != (0,) for at, size in enumerate(shape)):
        raise Unsupported("reads a size of 0 as that of the input")
    return f"paddle.reshape({call[0]}, {list(shape)})"


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


SHAPING: Mapping[str, Expression] = {
    "reshape": _reshape,
    "transpose": template("paddle.transpose({0}, {permutation})"),
    "squeeze": template("paddle.squeeze({0}, axis={axes})"),
    "unsqueeze": template("paddle.unsqueeze({0}, axis={axes})"),
    "expand": template("paddle.expand({0}, {shape})"),
    "concat": joined("paddle.concat"),
    "stack": joined("paddle.stack"),
    "tril": on(WIDE_OR_BOOL, template("paddle.tril({0}, diagonal={diagonal})")),
    "triu": on(WIDE_OR_BOOL, template("paddle.triu({0}, diagonal={diagonal})")),
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
}
