"""How ONNX computes the functions that are named after what they are used for, few of which it has."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jostle.frameworks.backends.onnx.nodes import Sketch, Sketcher


def _exp2(s: Sketch) -> str:
    return s.add("Pow", s.constant("base", 2.0, s.x.dtype), s[0])


def _log10(s: Sketch) -> str:
    return s.add("Mul", s.add("Log", s[0]), s.constant("scale", 1 / math.log(10), s.x.dtype))


SPECIAL_FUNCTIONS: Mapping[str, Sketcher] = {"exp2": _exp2, "log10": _log10}
