"""A compiled backend beside the eager mode of the same library: equal results, but for what a compiler may change.

Compiled and eager read the same inputs and promise the same, so their results are compared without float64, where that
excuses both. What depends on nothing but operators with one right result in IEEE 754 (exact ones, one sum, product,
quotient or root, conversions) must be equal, also beyond a jump: the compilers compared here contract no product and
sum into one rounding (Inductor compiles with -ffp-contract=off). Zeros count as equal, infinities of either sign too,
and what reads numbers that may be flushed to 0 is left out. Of all other floats, sums may be in another order, and
functions other approximations: they may differ by a few times what jitter moves them by, without what is granted to
other libraries. Training is not compared, nor what jitter moves over a jump.
"""

from __future__ import annotations

import numpy as np

from jostle.frameworks.backends.program import TRAIN
from jostle.frameworks.graph import Array
from jostle.frameworks.judging.case import Case
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.judging.reference_bounds import distance
from jostle.frameworks.judging.rounding import is_determined
from jostle.frameworks.observations import REFERENCE
from jostle.frameworks.operators.subtracted import typical

EAGER = {"torch-aot": "torch", "torch-inductor": "torch"}
# Times jitter and an epsilon of the size; torch-aot was at most at 0.9 of these in 889 models of one operator.
TIMES = 8.0


def eager_twin(backend: str) -> str | None:
    """The eager backend in the same interpreter, if this one is compiled."""
    stem, at, interpreter = backend.partition("@")
    return f"{EAGER[stem]}{at}{interpreter}" if stem in EAGER else None


def witnesses(symptom: str, backend: str) -> list[str]:
    """The backends that must run for a symptom of this one to show."""
    twin = eager_twin(backend) if symptom == Symptom.COMPILED else None
    return [REFERENCE, backend] if twin is None else [REFERENCE, backend, twin]


def against_eager(case: Case, backend: str) -> Disagreement | None:
    """How a compiled backend differs from its eager twin, if it does; both gave results of the right types."""
    twin = eager_twin(backend)
    if twin is None or case.phase == TRAIN:
        return None
    for name in case.results:
        seen, expected = case.seen(backend, name), case.seen(twin, name)
        excess = _excess(case, name, seen, expected)
        if (excess > 0).any():
            index = tuple(int(at) for at in np.unravel_index(np.argmax(excess), excess.shape))
            texts = f"{seen[index]}", f"{expected[index]}"
            return Disagreement(backend, case.phase, Symptom.COMPILED, name, index, *texts, float(excess[index]))
    return None


def _excess(case: Case, name: str, seen: Array, expected: Array) -> Array:
    """How many times what a compiler may change is what it changed, 0 where that is no more."""
    if _equal(seen, expected).all():  # mostly; what follows may cost several runs of the reference
        return np.zeros(seen.shape)
    if name in case.graph.outputs and is_determined(case.graph, name, case.types, case.tensors):
        return np.where(_equal(seen, expected), 0.0, np.inf)
    if not case.results[name].is_float:
        return np.zeros(seen.shape)
    finite = np.isfinite(seen) & np.isfinite(expected)
    far = np.where(finite, distance(seen, expected), 0.0)
    spread, size = case.spread[name], np.where(finite, np.abs(expected.astype(np.float64)), 0.0)
    usual = np.median(spread[np.isfinite(spread)]) if np.isfinite(spread).any() else 0.0
    epsilon = float(np.finfo(case.dtype(name)).eps)
    granted = TIMES * (np.maximum(spread, usual) + epsilon * (size + typical(size))) + case.vanishing(name)
    excess = np.divide(far, granted, out=np.where(far > 0, np.inf, 0.0), where=granted > 0)
    return np.where(excess > 1, excess, 0.0)


def _equal(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)) | (np.isinf(a) & np.isinf(b)))
