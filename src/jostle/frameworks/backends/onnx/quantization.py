"""How ONNX computes with whole numbers that stand for floats."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher, native
from jostle.frameworks.backends.program import Unsupported


def _levels(s: Sketch, dtype: str) -> tuple[str, str]:
    """The names of scale and zero point."""
    if s.x.dtype == "float64":
        raise Unsupported("quantizes no float64")
    return s.constant("scale", s.attributes["scale"], "float32"), s.constant("zero", s.attributes["zero_point"], dtype)


def _fake_quantize(s: Sketch) -> str:
    levels = _levels(s, "int8")
    return s.add("DequantizeLinear", s.add("QuantizeLinear", s[0], *levels), *levels)


QUANTIZATION: Mapping[str, Sketcher] = {
    "quantize": lambda s: s.add("QuantizeLinear", s[0], *_levels(s, s.attributes["to"])),
    "dequantize": lambda s: s.add("DequantizeLinear", s[0], *_levels(s, s.x.dtype)),
    "fake_quantize": _fake_quantize,
    "matmul_integer": native("MatMulInteger"),
}
