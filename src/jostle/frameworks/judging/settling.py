"""Whether a gradient that differs is wrong: one-sided derivatives in float64 decide."""

from __future__ import annotations

import numpy as np

from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.reference_bounds import SEED, ReferenceBounds

SMOOTH = 1e-3  # the sides of a derivative agree to this part of it
CLOSE = 0.3  # of the difference between backend and reference: finite differences must side clearly


def is_settled(
    graph: Graph, name: str, index: tuple[int, ...], seen: float, expected: float, yardstick: ReferenceBounds
) -> bool:
    """Whether the function has a derivative there, which the reference has right and the backend wrong."""
    left, right = yardstick.derivative(graph, name.removeprefix("d_"), index, SEED)
    if not np.isfinite([left, right]).all():
        return False
    apart = abs(float(seen) - float(expected)) if np.isfinite(seen) else np.inf
    smooth = abs(left - right) <= max(SMOOTH * max(abs(left), abs(right)), CLOSE * min(apart, abs(left) + abs(right)))
    return smooth and abs((left + right) / 2 - float(expected)) <= CLOSE * min(apart, 1e3 * abs(float(expected)) + 1e-3)
