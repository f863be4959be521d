"""Settles by finite differences which gradient is right."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

from jostle.frameworks.graph import Array, Graph
from jostle.frameworks.lowerings.program import cotangents_of, float_outputs
from jostle.frameworks.reference.numbers import held
from jostle.frameworks.reference.run import Tensors, forward, gradients_of, leaves_of
from jostle.frameworks.reference.undefined import Undefined

STEPS = (1e-5, 1e-6)  # relative to the size of what is moved
SMALLEST = 1e-2  # what is moved counts as at least so large
ROUNDING = 2.0**-50  # of what is summed, relative
NOISE = 1e-7  # what is left where a gradient cancels out in float32, relative to what is differentiated


class Settled(StrEnum):
    """What finite differences say of a claimed gradient."""

    RIGHT = "right"
    WRONG = "wrong"
    NOT_DIFFERENTIABLE = "not differentiable"  # what comes from the left differs from what comes from the right
    UNCLEAR = "unclear"


def settle(
    graph: Graph,
    leaf: str,
    claimed: Array,
    rng: np.random.Generator,
    *,
    seed: int = 0,
    directions: int = 4,
    tolerance: float = 1e-3,
) -> Settled:
    """Whether `claimed` is the gradient by this leaf of what a program of the phase `gradient` differentiates.

    `tolerance` is relative to the sum of the sizes of what is added up along a direction. Elements whose claimed
    derivative is not finite are not judged (`derivative` can tell about each of them), nor are those that an output
    depends on which is not finite.
    """
    slope = _Slope(graph, leaf, seed)
    judged = np.isfinite(claimed) & ~beyond(graph, leaf)
    if not judged.any():
        return Settled.UNCLEAR
    claimed = np.where(judged, claimed, 0.0).astype(np.float64)
    verdicts = set()
    for _ in range(directions):
        direction = np.where(judged, _direction(graph.leaves[leaf].array, rng), 0.0)
        verdicts.add(_along(slope, direction, claimed * direction, tolerance))
    order = (Settled.NOT_DIFFERENTIABLE, Settled.WRONG, Settled.UNCLEAR, Settled.RIGHT)
    return next((one for one in order if one in verdicts), Settled.UNCLEAR)


def derivative(graph: Graph, leaf: str, index: tuple[int, ...], seed: int = 0) -> tuple[float, float]:
    """From the left and from the right, by one element of a leaf; NaN where there is none."""
    array = graph.leaves[leaf].array
    direction = np.zeros(array.shape)
    direction[index] = max(abs(float(array[index])), SMALLEST)
    slope = _Slope(graph, leaf, seed)
    left, right = (_extrapolated(slope, direction, side) for side in (-1.0, 1.0))
    return left / float(direction[index]), right / float(direction[index])


def beyond(graph: Graph, leaf: str) -> Array:
    """Which elements of a leaf an output depends on that is not finite, so that no gradient by them means much."""
    leaves = leaves_of(graph)
    leaves[leaf].requires_grad_()
    tensors = forward(graph, leaves)
    outputs = [tensors[name] for name in float_outputs(graph)]
    amount = sum((torch.where(one.isfinite(), 0.0, one).sum() for one in outputs), torch.zeros(()))
    (gradient,) = gradients_of(amount, [leaves[leaf]])
    return np.asarray(gradient.numpy() != 0)


class _Slope:
    """How what is differentiated changes when a leaf is moved."""

    def __init__(self, graph: Graph, leaf: str, seed: int) -> None:
        self._graph, self._leaf = graph, leaf
        self._cotangents = {name: held(array) for name, array in cotangents_of(graph, seed).items()}
        self._leaves: Tensors = leaves_of(graph)
        self._still = self._outputs(self._leaves[leaf])
        self.size = sum(float(self._sizes(name).sum()) for name in self._still)  # of what is differentiated

    def _sizes(self, name: str) -> Tensor:
        sizes = (self._still[name] * self._cotangents[f"cotangent_{name}"]).abs()
        return torch.where(sizes.isfinite(), sizes, 0.0)

    def to(self, direction: Array, step: float) -> tuple[float, float]:
        """The change by a step divided by it, and how unsure rounding makes it; NaN where there is none."""
        try:
            moved = self._outputs(self._leaves[self._leaf] + step * torch.from_numpy(direction))
        except Undefined:
            return np.nan, np.nan
        change, unsure = 0.0, 0.0
        for name, still in self._still.items():
            cotangent = self._cotangents[f"cotangent_{name}"]
            # An output that does not move adds nothing, not even rounding: so differences first, then the sum.
            same = (moved[name] == still) | (moved[name].isnan() & still.isnan())
            parts = torch.where(same, 0.0, (moved[name] - still) * cotangent)
            sizes = torch.where(same, 0.0, still * cotangent).abs()
            change, unsure = change + float(parts.sum()), unsure + float(sizes.sum())
        return change / step, ROUNDING * unsure / abs(step)

    def _outputs(self, leaf: Tensor) -> Mapping[str, Tensor]:
        with torch.no_grad():
            tensors = forward(self._graph, self._leaves | {self._leaf: leaf})
        return {name: tensors[name] for name in float_outputs(self._graph)}


def _direction(array: Array, rng: np.random.Generator) -> Array:
    sizes = np.maximum(np.abs(array.astype(np.float64)), SMALLEST)
    return np.asarray(rng.choice([-1.0, 1.0], array.shape) * rng.uniform(0.5, 1.0, array.shape) * sizes)


def _along(slope: _Slope, direction: Array, claimed: Array, tolerance: float) -> Settled:
    sides = [[slope.to(direction, side * step) for side in (-1.0, 1.0)] for step in STEPS]
    if not np.isfinite(sides).all():
        return Settled.UNCLEAR
    (left, unsure), (right, _) = sides[1]
    coarse, fine = (sides[0][0][0] + sides[0][1][0]) / 2, (left + right) / 2
    allowed = tolerance * float(np.abs(claimed).sum()) + NOISE * slope.size
    gap, coarse_gap = abs(right - left), abs(sides[0][1][0] - sides[0][0][0])
    if gap > 2 * unsure + 1e-6 * (abs(left) + abs(right)) and gap > coarse_gap / 3:
        return Settled.NOT_DIFFERENTIABLE  # a smooth function's gap would have shrunk as the step did
    unsure += abs(coarse - fine)
    if abs(float(claimed.sum()) - fine) <= allowed + unsure:
        return Settled.RIGHT if unsure <= max(allowed, tolerance * abs(fine), 1e-12) else Settled.UNCLEAR
    return Settled.WRONG if abs(float(claimed.sum()) - fine) > 2 * allowed + 10 * unsure else Settled.UNCLEAR


def _extrapolated(slope: _Slope, direction: Array, side: float) -> float:
    """What one-sided differences tend to as the step does to 0."""
    step = side * STEPS[0]
    return 2 * slope.to(direction, step / 2)[0] - slope.to(direction, step)[0]
