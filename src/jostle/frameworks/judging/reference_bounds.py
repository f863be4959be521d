"""What results are measured against: the float64 reference, and how far rounding alone may move a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from jostle.frameworks.graph import Array, Graph
from jostle.frameworks.judging.jitter import jittered
from jostle.frameworks.judging.rounding import jumping

Evaluate = Callable[[Graph], Mapping[str, Array]]  # every leaf and node in float64
Result = Callable[[Graph, str, int], Mapping[str, Array]]  # graph, phase, seed of the cotangents; as programs leave it
# One-sided derivatives, left and right, of Σ output * cotangent: graph, leaf, index, seed.
Derivative = Callable[[Graph, str, tuple[int, ...], int], tuple[float, float]]
DRAWS = 2
SEED = 0  # of the cotangents that every backend is given


@dataclass(frozen=True)
class ReferenceBounds:
    """Measures graphs in float64."""

    evaluate: Evaluate
    result: Result
    derivative: Derivative
    undefined: type[Exception]  # what they raise where a result has no meaning

    def spread(self, graph: Graph, phase: str) -> dict[str, Array]:
        """How far each element of a result moves when every rounding is another, infinite where it has no limits."""
        tensors = self.evaluate(graph)
        exact = self.result(graph, phase, SEED)
        spread = {name: np.zeros(np.shape(array)) for name, array in exact.items()}
        for other in _others(graph, tensors):
            try:
                moved = self.result(other, phase, SEED)
            except self.undefined:  # next to the edge of what is defined, anything may come out
                return {name: np.full(np.shape(array), np.inf) for name, array in exact.items()}
            spread = {name: np.maximum(far, distance(exact[name], moved[name])) for name, far in spread.items()}
        jumps = jumping(graph, tensors)
        return {
            name: np.full(far.shape, np.inf) if jumps and (name in jumps or name not in graph.outputs) else far
            for name, far in spread.items()
        }


def _others(graph: Graph, tensors: Mapping[str, Array]) -> Iterator[Graph]:
    for seed in range(DRAWS):
        yield jittered(graph, tensors, seed, 1.0)
        yield jittered(graph, tensors, seed, -1.0)
    yield jittered(graph, tensors, DRAWS, extremes=True)


def distance(a: Array, b: Array) -> Array:
    """|a - b|, 0 where both are equal or both NaN, infinite where only one of them is finite."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    alike = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(alike, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))
