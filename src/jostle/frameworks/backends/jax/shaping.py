"""How JAX reshapes, transposes and joins tensors, and goes by rows and columns."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends import numpy_like
from jostle.frameworks.backends.numpy_like import of_axes
from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import template

SHAPING: Mapping[str, Expression] = {
    **numpy_like.shaping("jnp", template),
    "squeeze": of_axes("jnp.squeeze({0}, axis={axes})"),
    "unsqueeze": of_axes("jnp.expand_dims({0}, axis={axes})"),
}
