"""The judge: which backend is wrong about a graph, by the reference, the peers, and what rounding explains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jostle.frameworks.backends.program import GRADIENT, TRAIN
from jostle.frameworks.graph import Array, Graph, TensorType
from jostle.frameworks.judging.case import Case, Observations
from jostle.frameworks.judging.disagreement import Disagreement, GraphJudgement, Symptom, family_of
from jostle.frameworks.judging.eager_twin import against_eager, eager_twin
from jostle.frameworks.judging.reference_bounds import SEED, ReferenceBounds, distance
from jostle.frameworks.judging.tolerances import allowance, floor, is_certain, kinds, near_overflow, rounded
from jostle.frameworks.observations import REFERENCE, Status

INDEPENDENT = 3  # families that agree against the reference make it doubtful
SAMPLED = 4  # elements of a gradient that finite differences decide on
SMOOTH = 1e-3  # the sides of a derivative agree to this part of it
CLOSE = 0.3  # of the difference between backend and reference: finite differences must side clearly


def compare(graph: Graph, phase: str, observations: Observations, bounds: ReferenceBounds) -> list[Disagreement]:
    """What each backend got wrong, at most one disagreement for each."""
    return list(judge(graph, phase, observations, bounds).found)


def judge(graph: Graph, phase: str, observations: Observations, bounds: ReferenceBounds) -> GraphJudgement:
    """The same, with the disagreements that are counted only."""
    return judge_case(Case(graph, phase, observations, bounds))


def judge_case(case: Case) -> GraphJudgement:
    """What is wrong in a case, and what is counted only."""
    if not case.has_reference:
        return GraphJudgement(tuple(_deaths(case.phase, case.observations)))
    found, doubted, unspecified = [], [], []
    for backend in case.backends:
        disagreement = next(_faults(case, backend), None) or _against_eager(case, backend)
        if disagreement is None:
            doubted.extend(_shared_faults(case, backend))
        elif disagreement.symptom is Symptom.UNSPECIFIED:
            unspecified.append(disagreement)
        elif _reference_is_doubtful(case, disagreement):
            doubted.append(disagreement)
        else:
            found.append(disagreement)
    return GraphJudgement(tuple(found), tuple(doubted), tuple(unspecified))


def _deaths(phase: str, observations: Observations) -> Iterator[Disagreement]:
    """The processes that died, which is wrong also where a result has no meaning."""
    for backend, one in observations.items():
        if one.status is Status.CRASHED and one.crash is not None and one.crash.fatal and backend != REFERENCE:
            yield Disagreement(backend, phase, Symptom.CRASH, crash=one.crash)


def _faults(case: Case, backend: str) -> Iterator[Disagreement]:
    """What is wrong with one backend, the plainest first."""
    observation = case.observations[backend]
    if observation.status in (Status.CRASHED, Status.HUNG):
        symptom = Symptom.CRASH if observation.status is Status.CRASHED else Symptom.HANG
        yield Disagreement(backend, case.phase, symptom, crash=observation.crash)
        return
    yield from (_wrong_type(case, backend, name) for name in case.results if not case.fits(backend, name))
    for check in (_nonfinite, _values):
        for name in case.results:
            yield from check(case, backend, name)


def _against_eager(case: Case, backend: str) -> Disagreement | None:
    """What a compiled backend makes of it that its eager twin does not, which is right itself."""
    twin = eager_twin(backend)
    if twin not in case.successful or backend not in case.successful or next(_faults(case, twin), None) is not None:
        return None
    return against_eager(case, backend)


def _shared_faults(case: Case, backend: str) -> list[Disagreement]:
    """What would be wrong with one backend if its peers did not err as much."""
    if case.observations[backend].status is not Status.OK:
        return []
    shared = (one for name in case.results for one in _values(case, backend, name, alone=True))
    return [one for one in shared if one.symptom is not Symptom.UNSPECIFIED][:1]


def _wrong_type(case: Case, backend: str, name: str) -> Disagreement:
    array = case.observations[backend].arrays.get(name)
    seen = "nothing" if array is None else str(TensorType(tuple(array.shape), array.dtype.name))
    return Disagreement(backend, case.phase, Symptom.TYPE, name, (), seen, str(case.results[name]), np.inf)


def _nonfinite(case: Case, backend: str, name: str) -> Iterator[Disagreement]:
    """Elements that are NaN or infinite on one side only, and not for a rounding."""
    if not case.results[name].is_float:
        return
    dtype = case.results[name].dtype
    expected, seen = case.expected(name).astype(np.float64), case.seen(backend, name)
    differ = (kinds(rounded(expected, dtype)) != kinds(seen)) & ~near_overflow(expected, dtype)
    if name not in case.graph.outputs or case.phase == TRAIN:
        # There are conventions, but no law, of infinite slopes, and of slopes where something is infinite.
        differ &= np.isfinite(rounded(expected, dtype)) & case.all_finite
    if not np.any(differ):
        return
    if case.overflows:
        differ &= np.isfinite(expected)  # the order of a sum decides whether there are infinities, and NaN of two
    differ &= is_certain(expected, case.spread[name]) & case.sides_with_reference(backend, name)
    symptom = Symptom.UNSPECIFIED if case.documented(backend) else Symptom.NONFINITE
    yield from _worst(case, backend, name, symptom, np.where(differ, np.inf, 0.0))


def _has_kink(case: Case) -> bool:
    """Whether a penalty by |w| is taken of a parameter at 0, where any slope from -1 to 1 is as good."""
    training = case.graph.training
    if case.phase != TRAIN or training is None or training.penalty not in ("l1", "elastic"):
        return False
    return any((case.graph.leaves[name].array == 0).any() for name in case.graph.named("parameter"))


def _values(case: Case, backend: str, name: str, *, alone: bool = False) -> Iterator[Disagreement]:
    if _has_kink(case):
        return
    expected, seen = case.expected(name), case.seen(backend, name)
    if not case.results[name].is_float:
        if (expected != seen).any():
            wrong = (expected != seen) & (case.spread[name] == 0)
            yield from _worst(case, backend, name, _symptom(case, backend, name), wrong)
        return
    excess = excess_of(case, backend, name, alone=alone)
    if (excess > 1).any():
        yield from _worst(case, backend, name, _symptom(case, backend, name), np.where(excess > 1, excess, 0.0))


def excess_of(case: Case, backend: str, name: str, *, alone: bool = False) -> Array:
    """How far each float of a result is from the reference, in units of what it is granted; 0 where one is not finite.

    What every implementation is granted is the unit where that is enough; else what rounding and the peers explain.
    """
    expected, seen, dtype = case.expected(name).astype(np.float64), case.seen(backend, name), case.dtype(name)
    error = np.where(np.isfinite(seen) & np.isfinite(expected), distance(seen, expected), 0.0)
    error[near_overflow(expected, dtype) | (np.abs(expected) > np.finfo(dtype).max)] = 0.0
    granted = floor(expected, dtype) + case.vanishing(name)
    if (error > granted).any():
        peers = np.zeros(expected.shape) if alone else case.peers_error(backend, name)
        granted = (allowance(expected, dtype, case.spread[name], peers) + case.vanishing(name)) * _steps(case)
    return np.divide(error, granted, out=np.zeros_like(error), where=np.isfinite(granted))


def _steps(case: Case) -> int:
    """How often rounding may add up: once for every step of a training."""
    return case.graph.training.steps if case.phase == TRAIN and case.graph.training is not None else 1


def _symptom(case: Case, backend: str, name: str) -> Symptom:
    if case.documented(backend):
        return Symptom.UNSPECIFIED
    if case.phase == TRAIN:
        return Symptom.TRAINING
    return Symptom.VALUES if name in case.graph.outputs else Symptom.GRADIENT


def _worst(case: Case, backend: str, name: str, symptom: Symptom, excess: Array) -> Iterator[Disagreement]:
    """The element with the largest excess, if any has some; of a gradient one that finite differences confirm."""
    order = np.argsort(excess, axis=None)[::-1]
    expected, seen = case.expected(name), case.seen(backend, name)
    for place in order[:SAMPLED]:
        index = tuple(int(at) for at in np.unravel_index(place, excess.shape))
        if not excess[index]:
            return
        gradient = case.phase == GRADIENT and name not in case.graph.outputs
        if not gradient or _is_confirmed(case, name, index, seen[index], expected[index]):
            texts = f"{seen[index]}", f"{expected[index]}"
            yield Disagreement(backend, case.phase, symptom, name, index, *texts, float(excess[index]))
            return


def _is_confirmed(case: Case, name: str, index: tuple[int, ...], seen: float, expected: float) -> bool:
    """Whether one-sided derivatives in float64 agree there, with the reference and not with the backend."""
    left, right = case.bounds.derivative(case.graph, name.removeprefix("d_"), index, SEED)
    if not np.isfinite([left, right]).all():
        return False
    error = abs(float(seen) - float(expected)) if np.isfinite(seen) else np.inf
    smooth = abs(left - right) <= max(SMOOTH * max(abs(left), abs(right)), CLOSE * min(error, abs(left) + abs(right)))
    return smooth and abs((left + right) / 2 - float(expected)) <= CLOSE * min(error, 1e3 * abs(float(expected)) + 1e-3)


def _reference_is_doubtful(case: Case, disagreement: Disagreement) -> bool:
    """Whether at least three families agree with each other against it, or nobody but it could run the graph."""
    if disagreement.symptom in (Symptom.CRASH, Symptom.HANG):
        return len({family_of(name) for name in case.backends}) > 1 and not case.successful
    if disagreement.symptom in (Symptom.TYPE, Symptom.COMPILED):
        return False
    agreeing = {family_of(name) for name in case.successful if _agrees(case, disagreement, name)}
    families = {family_of(name) for name in case.successful}
    others_all = len(agreeing) > 1 and agreeing == families
    return len(agreeing) >= INDEPENDENT or others_all


def _agrees(case: Case, disagreement: Disagreement, other: str) -> bool:
    """Whether another backend sees what this one sees at the element in question, and not what the reference does."""
    name, index = disagreement.tensor, disagreement.index
    if not case.fits(other, name):
        return False
    seen, its, expected = (
        np.asarray(array[index], np.float64)
        for array in (case.seen(disagreement.backend, name), case.seen(other, name), case.expected(name))
    )
    return bool(np.isfinite(distance(seen, its)) and distance(seen, its) <= 0.1 * distance(seen, expected))
