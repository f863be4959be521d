"""How TensorFlow reshapes, transposes and joins tensors, and goes by rows and columns."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import joined, template


def channels_last(name: str, rank: int) -> str:
    """An image as TensorFlow's CPU kernels want it."""
    return f"tf.transpose({name}, {[0, *range(2, rank), 1]})"


def channels_first(expression: str, rank: int) -> str:
    return f"tf.transpose({expression}, {[0, rank - 1, *range(1, rank - 1)]})"


def _unsqueeze(call: Call) -> str:
    expression = call[0]
    for axis in call.attributes["axes"]:
        expression = f"tf.expand_dims({expression}, axis={axis})"
    return expression


def _triangle(keeps_lower: bool) -> Expression:
    def expression(call: Call) -> str:
        rows, columns = call.type.shape[-2:]
        diagonal = call.attributes["diagonal"] if keeps_lower else -call.attributes["diagonal"]
        if not 0 <= diagonal <= (columns if keeps_lower else rows):
            function = "tril" if keeps_lower else "triu"
            return f"tf.experimental.numpy.{function}({call[0]}, k={call.literal('diagonal')})"
        return f"tf.linalg.band_part({call[0]}, {f'-1, {diagonal}' if keeps_lower else f'{diagonal}, -1'})"

    return expression


def _depth_to_space(call: Call) -> str:
    block = call.attributes["block"]
    if call.attributes["mode"] == "dcr":
        return channels_first(f"tf.nn.depth_to_space({channels_last(call[0], 4)}, {block})", 4)
    batch, channels, height, width = call.types[0].shape
    split = f"tf.reshape({call[0]}, {[batch, channels // block**2, block, block, height, width]})"
    return f"tf.reshape(tf.transpose({split}, [0, 1, 4, 2, 5, 3]), {list(call.type.shape)})"


def _space_to_depth(call: Call) -> str:
    return channels_first(f"tf.nn.space_to_depth({channels_last(call[0], 4)}, {call.literal('block')})", 4)


SHAPING: Mapping[str, Expression] = {
    "reshape": template("tf.reshape({0}, {shape})"),
    "transpose": template("tf.transpose({0}, {permutation})"),
    "squeeze": template("tf.squeeze({0}, axis={axes})"),
    "unsqueeze": _unsqueeze,
    "expand": template("tf.broadcast_to({0}, {shape})"),
    "concat": joined("tf.concat"),
    "stack": joined("tf.stack"),
    "tril": _triangle(keeps_lower=True),
    "triu": _triangle(keeps_lower=False),
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
}
