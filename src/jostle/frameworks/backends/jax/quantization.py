"""How JAX computes with whole numbers that stand for floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill, templates


def _levels(call: Call, dtype: str) -> str:
    limits = np.iinfo(dtype)
    return fill(f"jnp.clip(jnp.round({{0}} / {{scale}}) + {{zero_point}}, {limits.min}, {limits.max})", call)


QUANTIZATION: Mapping[str, Expression] = {
    **templates(
        {
            "dequantize": '({0}.astype("float32") - {zero_point}) * {scale}',
            "matmul_integer": 'jnp.matmul({0}, {1}, preferred_element_type="int32")',
        }
    ),
    "quantize": lambda call: f"{_levels(call, call.type.dtype)}.astype({call.type.dtype!r})",
    "fake_quantize": lambda call: fill(f"({_levels(call, 'int8')} - {{zero_point}}) * {{scale}}", call),
}
