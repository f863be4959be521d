"""How TensorFlow computes with whole numbers that stand for floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill, on, templates


def _levels(call: Call, dtype: str) -> str:
    limits = np.iinfo(dtype)
    rounded = "tf.round({0} / {scale}) + {zero_point}"
    return fill(f"tf.clip_by_value({rounded}, {limits.min}, {limits.max})", call)


def _fake_quantize(call: Call) -> str:
    """The levels are given by the floats that the least and the largest of them stand for."""
    scale, zero = call.attributes["scale"], call.attributes["zero_point"]
    low, high = (float((level - zero) * scale) for level in (-128, 127))
    return f"tf.quantization.fake_quant_with_min_max_args({call[0]}, min={low}, max={high})"


QUANTIZATION: Mapping[str, Expression] = {
    **templates(
        {
            "dequantize": "(tf.cast({0}, tf.float32) - {zero_point}) * {scale}",
            "matmul_integer": "tf.matmul({0}, {1}, output_type=tf.int32)",
        }
    ),
    "quantize": lambda call: f"tf.cast({_levels(call, call.type.dtype)}, tf.{call.type.dtype})",
    "fake_quantize": on("float32", _fake_quantize),
}
