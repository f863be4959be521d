"""How much the results of backends differ: a score to search by, which does not say who is wrong."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

import numpy as np

from jostle.frameworks.graph import Array
from jostle.frameworks.judging.case import Case
from jostle.frameworks.judging.reference_bounds import distance
from jostle.frameworks.judging.tolerances import floor, near_overflow
from jostle.frameworks.observations import REFERENCE

Pairs = Mapping[tuple[str, str], float]  # of backends, the reference among them


def inconsistency(case: Case, wrong: Collection[str]) -> Pairs:
    """The largest difference of each two backends, in units of the float64 reference's own jitter.

    What is within the precision of the result is measured by that. Floats that the judge says nothing of are left out:
    those that jitter moves over a jump, next to overflow, or not finite. So are backends that are wrong here: what they
    differ by would hide all else.
    """
    sound = [REFERENCE, *(name for name in case.successful if name not in wrong)]
    largest = np.zeros((len(sound), len(sound)))
    for name in case.results:
        if case.results[name].is_float and case.results[name].size:
            largest = np.maximum(largest, _differences(case, name, sound))
    return {(sound[a], sound[b]): float(largest[a, b]) for a, b in combinations(range(len(sound)), 2)}


def _differences(case: Case, name: str, backends: list[str]) -> Array:
    """Of one result [backends, backends]."""
    seen = [case.expected(name) if one == REFERENCE else case.seen(one, name) for one in backends]
    values = np.stack([np.asarray(one, np.float64).ravel() for one in seen])  # [backends, elements]
    far, expected = distance(values[:, None], values[None]), case.expected(name).astype(np.float64)
    units = floor(expected, case.dtype(name)).ravel() + case.vanishing(name)
    if (far > units).any():  # mostly not; the jitter costs several runs of the reference
        units = np.maximum(units, case.spread[name].ravel())
    judged = np.isfinite(far) & np.isfinite(units) & ~near_overflow(expected, case.dtype(name)).ravel()
    return np.asarray(np.divide(far, units, out=np.zeros_like(far), where=judged).max(axis=2))
