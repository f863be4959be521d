"""How much the results of backends differ, as a score to search by; it does not say who is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from jostle.frameworks.graph import Array
from jostle.frameworks.observations import Observation, Status

LARGE = 1e30  # stands for what is not finite


def inconsistency(observations: Mapping[str, Observation]) -> float:
    """LEMON's D_MAD, |δ₁ - δ₂| / (δ₁ + δ₂) with δ = mean |y - label|, the largest of all pairs and results; in [0, 1].

    A graph has no labels, so a fixed wave stands for them, which tells also the order of elements.
    """
    ran = [one.arrays for one in observations.values() if one.status is Status.OK]
    names = dict.fromkeys(name for arrays in ran for name in arrays)
    return max((_largest_difference([arrays[name] for arrays in ran if name in arrays]) for name in names), default=0.0)


def _largest_difference(arrays: list[Array]) -> float:
    distances = [_distance(array) for array in arrays if array.size]
    return max((_relative_difference(a, b) for a, b in combinations(distances, 2)), default=0.0)


def _distance(array: Array) -> float:
    values = np.nan_to_num(np.asarray(array, np.float64).ravel(), nan=LARGE, posinf=LARGE, neginf=-LARGE)
    with np.errstate(over="ignore"):
        return float(np.mean(np.abs(values - np.cos(np.arange(values.size)))))


def _relative_difference(a: float, b: float) -> float:
    return abs(a - b) / (a + b) if 0 < a + b < np.inf else 0.0
