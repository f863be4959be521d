"""How Paddle computes with whole numbers that stand for floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill, templates


def _levels(call: Call, dtype: str) -> str:
    limits = np.iinfo(dtype)
    rounded = "paddle.round({0} / {scale}) + {zero_point}"
    return fill(f"paddle.clip({rounded}, min={limits.min}, max={limits.max})", call)


QUANTIZATION: Mapping[str, Expression] = {
    **templates({"dequantize": '(paddle.cast({0}, "float32") - {zero_point}) * {scale}'}),
    "quantize": lambda call: f"paddle.cast({_levels(call, call.type.dtype)}, {call.type.dtype!r})",
    "fake_quantize": lambda call: fill(f"({_levels(call, 'int8')} - {{zero_point}}) * {{scale}}", call),
}
