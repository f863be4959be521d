"""How torch computes the functions that are named after what they are used for."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import named

SPECIAL_FUNCTIONS: Mapping[str, Expression] = {
    **named(
        "torch.special.",
        "exp2 erfc erfinv lgamma=gammaln digamma i0 i0e i1 i1e ndtr ndtri log_ndtr logit sinc entr xlogy xlog1py",
    ),
    **named("torch.", "log10 logaddexp logaddexp2 hypot"),
}
