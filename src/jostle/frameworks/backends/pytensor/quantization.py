"""How PyTensor computes with whole numbers that stand for floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.pytensor.filling import all_filled_in, filled_in


def _quantize(call: Call) -> str:
    limits = np.iinfo(call.type.dtype)
    rounded = 'pt.round({0} / {scale}, mode="half_to_even") + {dtype}(zero)'
    text = f"pt.clip({rounded}, {{dtype}}({limits.min}), {{dtype}}({limits.max}))"
    return filled_in(text.replace("(zero)", "({zero_point})"))(call) + f".astype({call.type.dtype!r})"


QUANTIZATION: Mapping[str, Expression] = {
    **all_filled_in({"dequantize": '({0}.astype("float32") - np.float32({zero_point})) * np.float32({scale})'}),
    "quantize": _quantize,
}
