"""How PyTensor reshapes, transposes and joins tensors, and goes by rows and columns."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import of_axes
from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.pytensor.filling import filled_in

SHAPING: Mapping[str, Expression] = {
    **numpy_like.shaping("pt", filled_in),
    "squeeze": of_axes("pt.squeeze({0}, {axes})"),
    "unsqueeze": of_axes("pt.expand_dims({0}, {axes})"),
}
