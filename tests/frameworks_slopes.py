"""Settles by finite differences whether a gradient is right."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import torch

from jostle.frameworks.backends.program import cotangents_of, float_outputs
from jostle.frameworks.graph import Array, Graph
from jostle.frameworks.reference.differences import SMALLEST, Slope
from jostle.frameworks.reference.run import evaluate, forward, gradients_of, leaves_of

STEPS = (1e-5, 1e-6)  # relative to the size of what is moved
ROUNDING = 2.0**-50  # of what is summed, relative
NOISE = 1e-7  # what is left where a gradient cancels out in float32, relative to what is differentiated


class Settled(StrEnum):
    """What finite differences say of a claimed gradient."""

    RIGHT = "right"
    WRONG = "wrong"
    NOT_DIFFERENTIABLE = "not differentiable"  # what comes from the left differs from what comes from the right
    UNCLEAR = "unclear"


def settle(
    graph: Graph, leaf: str, claimed: Array, rng: np.random.Generator, directions: int = 4, tolerance: float = 1e-3
) -> Settled:
    """Whether `claimed` is the gradient by this leaf of what a program of the phase `gradient` differentiates.

    `tolerance` is relative to the sum of the sizes of what is added up along a direction. Elements whose claimed
    derivative is not finite are not judged, nor are those that an output depends on which is not finite.
    """
    slope, size = Slope(graph, leaf, 0), differentiated_size(graph)
    judged = np.isfinite(claimed) & ~beyond(graph, leaf)
    if not judged.any():
        return Settled.UNCLEAR
    claimed = np.where(judged, claimed, 0.0).astype(np.float64)
    verdicts = set()
    for _ in range(directions):
        direction = np.where(judged, any_direction(graph.leaves[leaf].array, rng), 0.0)
        verdicts.add(settled_along(slope, size, direction, claimed * direction, tolerance))
    order = (Settled.NOT_DIFFERENTIABLE, Settled.WRONG, Settled.UNCLEAR, Settled.RIGHT)
    return next(one for one in order if one in verdicts)


def beyond(graph: Graph, leaf: str) -> Array:
    """Which elements of a leaf an output depends on that is not finite, so that no gradient by them means much."""
    leaves = leaves_of(graph)
    leaves[leaf].requires_grad_()
    tensors = forward(graph, leaves)
    outputs = [tensors[name] for name in float_outputs(graph)]
    amount = sum((torch.where(one.isfinite(), 0.0, one).sum() for one in outputs), torch.zeros(()))
    (gradient,) = gradients_of(amount, [leaves[leaf]])
    return np.asarray(gradient.numpy() != 0)


def differentiated_size(graph: Graph) -> float:
    """Of all that is summed to what is differentiated."""
    tensors, cotangents = evaluate(graph), cotangents_of(graph, 0)
    parts = [np.abs(tensors[name] * cotangents[f"cotangent_{name}"]) for name in float_outputs(graph)]
    return float(sum(part[np.isfinite(part)].sum() for part in parts))


def any_direction(array: Array, rng: np.random.Generator) -> Array:
    sizes = np.maximum(np.abs(array.astype(np.float64)), SMALLEST)
    return np.asarray(rng.choice([-1.0, 1.0], array.shape) * rng.uniform(0.5, 1.0, array.shape) * sizes)


def settled_along(slope: Slope, size: float, direction: Array, claimed: Array, tolerance: float) -> Settled:
    sides = np.array([[slope.along(direction, side * step) for side in (-1.0, 1.0)] for step in STEPS])
    if not np.isfinite(sides).all():
        return Settled.UNCLEAR
    coarse, fine = sides.mean(axis=1)
    coarse_gap, gap = np.abs(np.diff(sides))[:, 0]
    unsure = ROUNDING * size / STEPS[1]
    if gap > 2 * unsure + 1e-6 * np.abs(sides[1]).sum() and gap > coarse_gap / 3:
        return Settled.NOT_DIFFERENTIABLE  # a smooth function's gap would have shrunk as the step did
    unsure += abs(coarse - fine)
    allowed = tolerance * float(np.abs(claimed).sum()) + NOISE * size
    off = abs(float(claimed.sum()) - fine)
    if off <= allowed + unsure:
        return Settled.RIGHT if unsure <= max(allowed, tolerance * abs(fine), 1e-12) else Settled.UNCLEAR
    return Settled.WRONG if off > 2 * allowed + 10 * unsure else Settled.UNCLEAR
