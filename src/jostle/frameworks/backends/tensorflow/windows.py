"""How TensorFlow gives what windows see."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill


def _sliding_window(call: Call) -> str:
    axis, rank = call.attributes["axis"], call.types[0].rank
    order = [at for at in range(rank + 1) if at != axis + 1] + [axis + 1]
    return fill(f"tf.transpose(tf.signal.frame({{0}}, {{size}}, {{step}}, axis={{axis}}), {order})", call)


def _im2col(call: Call) -> str:
    """Patches hold their channels last; tf.image.extract_patches pads nothing by itself."""
    batch, channels = call.types[0].shape[:2]
    (height, width), (rows, columns) = call.attributes["kernel"], call.attributes["padding"]
    padded = f"tf.pad({call[0]}, {[[0, 0], [0, 0], [rows] * 2, [columns] * 2]})"
    numbers = {name: [1, *call.attributes[name], 1] for name in ("kernel", "strides", "dilations")}
    settings = f'{numbers["kernel"]}, {numbers["strides"]}, {numbers["dilations"]}, "VALID"'
    patches = f"tf.image.extract_patches(tf.transpose({padded}, [0, 2, 3, 1]), {settings})"
    split = f"tf.reshape({patches}, {[batch, call.type.shape[2], height * width, channels]})"
    return f"tf.reshape(tf.transpose({split}, [0, 3, 2, 1]), {list(call.type.shape)})"


WINDOWS: Mapping[str, Expression] = {"sliding_window": _sliding_window, "im2col": _im2col}
