"""How PyTensor computes the functions that are named after what they are used for."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import named

SPECIAL_FUNCTIONS: Mapping[str, Expression] = named(
    "pt.", "exp2 log10 erfc erfinv lgamma=gammaln digamma=psi i0 i1 logaddexp"
)
