"""How TensorFlow computes the functions that are named after what they are used for."""

from __future__ import annotations

from collections.abc import Mapping

from jostle.frameworks.backends.program import Expression
from jostle.frameworks.backends.templates import named

SPECIAL_FUNCTIONS: Mapping[str, Expression] = {
    **named(
        "tf.math.",
        "erfc erfinv lgamma digamma i0=bessel_i0 i0e=bessel_i0e i1=bessel_i1 i1e=bessel_i1e ndtri xlogy xlog1py",
    ),
    **named("tf.experimental.numpy.", "exp2 log10 sinc hypot logaddexp"),
    **named("tf.keras.ops.", "logaddexp2"),
}
