"""Formulas of the operators whose whole numbers stand for floats."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.frameworks.backends.program import Call
from jostle.frameworks.reference.numbers import Formula, least, most, plain
from jostle.frameworks.reference.undefined import undefined_with_nan


def _levels(call: Call, x: Tensor, dtype: str) -> Tensor:
    undefined_with_nan(x, "a quantization")
    levels: Tensor = torch.round(x.detach() / call.attributes["scale"]) + call.attributes["zero_point"]
    return levels.clamp(least(dtype), most(dtype))


def quantize(call: Call, x: Tensor) -> Tensor:
    return _levels(call, x, call.type.dtype).to(torch.int64)


def _dequantized(call: Call, levels: Tensor) -> Tensor:
    scale: float = call.attributes["scale"]
    zero_point: int = call.attributes["zero_point"]
    return (levels.to(torch.float64) - zero_point) * scale


QUANTIZATION: Mapping[str, Formula] = {
    "quantize": quantize,
    "dequantize": _dequantized,
    "fake_quantize": lambda call, x: _dequantized(call, _levels(call, x, "int8")),
    "matmul_integer": plain(torch.matmul),
}
