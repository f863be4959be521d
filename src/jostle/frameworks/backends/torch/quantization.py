"""How torch computes with whole numbers that stand for floats."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Call, Expression
from jostle.frameworks.backends.templates import fill, on, template, templates


def _quantize(call: Call) -> str:
    dtype = {"int8": "torch.qint8", "uint8": "torch.quint8"}[call.type.dtype]
    return fill(f"torch.quantize_per_tensor({{0}}, {{scale}}, {{zero_point}}, {dtype}).int_repr()", call)


QUANTIZATION: Mapping[str, Expression] = {
    **templates(
        {
            "dequantize": "({0}.to(torch.float32) - {zero_point}) * {scale}",
            "matmul_integer": "torch.matmul({0}.to(torch.int32), {1}.to(torch.int32))",
        }
    ),
    "quantize": on("float32", _quantize),
    "fake_quantize": on(
        "float32", template("torch.fake_quantize_per_tensor_affine({0}, {scale}, {zero_point}, -128, 127)")
    ),
}
