"""How JAX computes the functions that are named after what they are used for."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import named

SPECIAL_FUNCTIONS: Mapping[str, Expression] = {
    **named(
        "jax.scipy.special.",
        "erfc erfinv lgamma=gammaln digamma i0 i0e i1 i1e ndtr ndtri log_ndtr logit entr xlogy xlog1py",
    ),
    **named("jnp.", "exp2 log10 sinc logaddexp logaddexp2 hypot"),
}
