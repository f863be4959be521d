"""How large the numbers are that formulas subtract: frameworks keep no more of a small result than of those.

Only what good implementations were seen to lose counts, on values from 1e-20 to 600 of both signs: tanh, erf, sinh and
the inverses of hyperbolic functions are exact relative to small results nearly everywhere, exp(x) - 1 is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jostle.frameworks.graph import Array, Attributes

# Of each element of a result, or one for all, from its operator's inputs and attributes.
Sizes = Callable[[Sequence[Array], Attributes], Array | float]
# What jitter moves a result by covers sums of thousands. A formula of one element subtracts once.
ONCE = 1 / 8


def typical(sizes: Array) -> float:
    """The largest of some sizes, but not one that towers over the others."""
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    with np.errstate(over="ignore"):  # near the largest float64
        return float(min(sizes.max(), 1000 * np.median(sizes))) if sizes.size else 0.0


def itself(inputs: Sequence[Array], attributes: Attributes) -> Array:
    """x (1 - u) with u near 1 where x is far below 0."""
    return ONCE * np.abs(inputs[0])


def one_below_0(inputs: Sequence[Array], attributes: Attributes) -> Array:
    """1 - u where x < 0."""
    return ONCE * (inputs[0] < 0)


def alpha_below_0(inputs: Sequence[Array], attributes: Attributes) -> Array:
    """alpha (exp(x) - 1) where x < 0; SELU's alpha and scale where there is no such attribute."""
    return np.asarray(ONCE * float(attributes.get("alpha", 1.76)) * (inputs[0] < 0))


def one_and_itself_below_0(inputs: Sequence[Array], attributes: Attributes) -> Array:
    """log(1 + exp(x)), or x + log(1 + exp(-x)), where x < 0."""
    return ONCE * np.where(inputs[0] < 0, 1 + np.abs(inputs[0]), 0.0)


def one_and_itself_above_0(inputs: Sequence[Array], attributes: Attributes) -> Array:
    """The same of -x."""
    return one_and_itself_below_0([-inputs[0]], attributes)


def squares(inputs: Sequence[Array], attributes: Attributes) -> float:
    """mean x² - (mean x)²."""
    size = typical(np.abs(inputs[0]))
    return size * size  # infinite where ** would raise


def all_inputs(inputs: Sequence[Array], attributes: Attributes) -> float:
    """x - mean x."""
    return typical(np.abs(inputs[0]))


def neighbours(inputs: Sequence[Array], attributes: Attributes) -> float:
    """Pixels, weighed by a position minus the pixel's own, which is as large as the image."""
    return typical(np.abs(inputs[0])) * float(max(inputs[0].shape[2:]))


def states(inputs: Sequence[Array], attributes: Attributes) -> float:
    """(1 - z) n + z h with gates that are near 0, on states h that are given after four inputs."""
    return max((typical(np.abs(one)) for one in inputs[4:]), default=0.0)
