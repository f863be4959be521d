"""How Paddle computes the functions that are named after what they are used for."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import named

SPECIAL_FUNCTIONS: Mapping[str, Expression] = named(
    "paddle.", "log10 erfinv lgamma digamma i0 i0e i1 i1e logit sinc logaddexp hypot"
)
