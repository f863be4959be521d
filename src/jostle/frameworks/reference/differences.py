"""One-sided derivatives by finite differences, which know nothing of gradients."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from jostle.frameworks.backends.program import cotangents_of, float_outputs
from jostle.frameworks.graph import Array, Graph
from jostle.frameworks.reference.numbers import held
from jostle.frameworks.reference.run import Tensors, forward, leaves_of
from jostle.frameworks.reference.undefined import Undefined

STEP = 1e-5  # relative to the size of what is moved
SMALLEST = 1e-2  # what is moved counts as at least so large


def derivative(graph: Graph, leaf: str, index: tuple[int, ...], seed: int = 0) -> tuple[float, float]:
    """From the left and from the right, by one element of a leaf; NaN where there is none."""
    array = graph.leaves[leaf].array
    direction = np.zeros(array.shape)
    direction[index] = max(abs(float(array[index])), SMALLEST)
    slope = Slope(graph, leaf, seed)
    left, right = (_extrapolated(slope, direction, side * STEP) for side in (-1.0, 1.0))
    return left / float(direction[index]), right / float(direction[index])


class Slope:
    """How what a program of the phase `gradient` differentiates changes when a leaf is moved."""

    def __init__(self, graph: Graph, leaf: str, seed: int) -> None:
        self._graph, self._leaf = graph, leaf
        self._cotangents = {name: held(array) for name, array in cotangents_of(graph, seed).items()}
        self._leaves: Tensors = leaves_of(graph)
        self._still = self._outputs(self._leaves[leaf])

    def along(self, direction: Array, step: float) -> float:
        """The change by a step divided by it; NaN where there is none."""
        try:
            moved = self._outputs(self._leaves[self._leaf] + step * torch.from_numpy(direction))
        except Undefined:
            return np.nan
        return sum(self._change(name, values) for name, values in moved.items()) / step

    def _change(self, name: str, moved: Tensor) -> float:
        """An output that does not move adds nothing, not even rounding: so differences first, then the sum."""
        still = self._still[name]
        same = (moved == still) | (moved.isnan() & still.isnan())
        return float(torch.where(same, 0.0, (moved - still) * self._cotangents[f"cotangent_{name}"]).sum())

    def _outputs(self, leaf: Tensor) -> Mapping[str, Tensor]:
        with torch.no_grad():
            tensors = forward(self._graph, self._leaves | {self._leaf: leaf})
        return {name: tensors[name] for name in float_outputs(self._graph)}


def _extrapolated(slope: Slope, direction: Array, step: float) -> float:
    """What one-sided differences tend to as the step does to 0."""
    return 2 * slope.along(direction, step / 2) - slope.along(direction, step)
