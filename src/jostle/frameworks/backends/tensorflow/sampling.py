"""How TensorFlow looks between pixels."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression, Unsupported
from jostle.frameworks.backends.tensorflow.shaping import channels_first, channels_last

RESIZERS = {
    "nearest": "tf.compat.v1.image.resize_nearest_neighbor({0}, {1})",
    "nearest_exact": 'tf.image.resize({0}, {1}, method="nearest")',
    "linear": 'tf.image.resize({0}, {1}, method="bilinear")',
    "linear_align_corners": "tf.compat.v1.image.resize_bilinear({0}, {1}, align_corners=True)",
    "cubic_align_corners": "tf.compat.v1.image.resize_bicubic({0}, {1}, align_corners=True)",
}


def _resize(call: Call) -> str:
    mode, size = call.attributes["mode"], call.attributes["size"]
    if call.type.rank != 4:
        raise Unsupported("resizes images of two axes only")
    if mode == "cubic":
        raise Unsupported("documents another cubic kernel, of a = -0.5")
    if call.type.dtype != "float32" and "nearest" not in mode:
        raise Unsupported("resizes to float32 only")
    return channels_first(RESIZERS[mode].format(channels_last(call[0], 4), size), 4)


def _antialiased(call: Call) -> str:
    if call.type.dtype != "float32":
        raise Unsupported("resizes to float32 only")
    method = {"linear": "bilinear", "cubic": "bicubic"}[call.attributes["mode"]]
    image = channels_last(call[0], 4)
    return channels_first(f'tf.image.resize({image}, {call.literal("size")}, "{method}", antialias=True)', 4)


SAMPLING: Mapping[str, Expression] = {
    "resize": _resize,
    "resize_antialias": _antialiased,
}
