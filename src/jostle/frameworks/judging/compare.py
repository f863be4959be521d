"""The oracle: who is wrong about a graph, by the reference, the peers, and what rounding explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.frameworks.backends.program import GRADIENT, TRAIN, differentiated
from jostle.frameworks.graph import Array, Graph, TensorType
from jostle.frameworks.judging.disagreement import Disagreement, Symptom, Verdict, family_of
from jostle.frameworks.judging.documented import documented
from jostle.frameworks.judging.jitter import typical
from jostle.frameworks.judging.reference_bounds import ReferenceBounds, apart
from jostle.frameworks.judging.rounding import precision
from jostle.frameworks.judging.settling import is_settled
from jostle.frameworks.judging.tolerances import (
    VANISHING,
    allowance,
    coarser,
    floor,
    is_certain,
    kinds,
    near_overflow,
    peers_error,
    rounded,
)
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.operators.all_operators import types_of

Observations = Mapping[str, Observation]
INDEPENDENT = 3  # families that agree against the reference make it doubtful
SAMPLED = 4  # elements of a gradient that are settled


def compare(graph: Graph, phase: str, observations: Observations, yardstick: ReferenceBounds) -> list[Disagreement]:
    """What each backend got wrong, at most one disagreement of each."""
    return list(judge(graph, phase, observations, yardstick).found)


def judge(graph: Graph, phase: str, observations: Observations, yardstick: ReferenceBounds) -> Verdict:
    """The same, with those disagreements in which the reference stands alone."""
    if observations[REFERENCE].status is not Status.OK:
        return Verdict(tuple(_deaths(phase, observations)))
    case = Case(graph, phase, observations, yardstick)
    found, doubted = [], []
    for backend in case.others:
        disagreement = next(_faults(case, backend), None)
        if disagreement is not None and not _reference_is_doubtful(case, disagreement):
            found.append(disagreement)
        else:
            doubted.extend([disagreement] if disagreement is not None else _shared_faults(case, backend))
    return Verdict(tuple(found), tuple(doubted))


def _deaths(phase: str, observations: Observations) -> Iterator[Disagreement]:
    """Processes that died: no meaning of a result, and no lack of one, excuses that."""
    for backend, one in observations.items():
        if one.status is Status.CRASHED and one.crash is not None and one.crash.fatal and backend != REFERENCE:
            yield Disagreement(backend, phase, Symptom.CRASH, crash=one.crash)


@dataclass(frozen=True)
class Case:
    """One graph in one phase, and what everybody made of it."""

    graph: Graph
    phase: str
    observations: Observations
    yardstick: ReferenceBounds

    @cached_property
    def others(self) -> list[str]:
        """The backends that could run it."""
        return [
            name
            for name, one in self.observations.items()
            if name != REFERENCE and one.status not in (Status.UNSUPPORTED, Status.UNDEFINED)
        ]

    @cached_property
    def sound(self) -> list[str]:
        return [name for name in self.others if self.observations[name].status is Status.OK]

    @cached_property
    def types(self) -> dict[str, TensorType]:
        return types_of(self.graph)

    @cached_property
    def results(self) -> dict[str, TensorType]:
        """The types of what a program leaves, outputs first."""
        if self.phase == TRAIN and self.graph.training is not None:
            loss = TensorType((self.graph.training.steps,), self.types[self.graph.outputs[0]].dtype)
            return {"loss": loss} | {name: self.types[name] for name in self.graph.named("parameter")}
        results = {name: self.types[name] for name in self.graph.outputs}
        if self.phase == GRADIENT:
            results |= {f"d_{name}": self.types[name] for name in differentiated(self.graph)}
        return results

    @cached_property
    def spread(self) -> dict[str, Array]:
        return self.yardstick.spread(self.graph, self.phase)

    @cached_property
    def tensors(self) -> Mapping[str, Array]:
        return self.yardstick.evaluate(self.graph)

    @cached_property
    def finite(self) -> bool:
        """Whether all numbers on the way are."""
        return all(np.isfinite(values).all() for values in self.tensors.values() if values.dtype.kind == "f")

    def expected(self, name: str) -> Array:
        return np.asarray(self.observations[REFERENCE].arrays[name])

    def seen(self, backend: str, name: str) -> Array:
        return np.asarray(self.observations[backend].arrays[name])

    def fits(self, backend: str, name: str) -> bool:
        arrays, type_ = self.observations[backend].arrays, self.results[name]
        if name not in arrays or arrays[name].shape != type_.shape:
            return False
        return arrays[name].dtype.name == type_.dtype or (name == "loss" and arrays[name].dtype.kind == "f")

    def dtype(self, name: str) -> str:
        """The precision that a result can have."""
        tensors = [name] if name in self.graph.outputs and self.phase != TRAIN else self.graph.outputs
        coarsest = max(precision(self.graph, tensor, self.types) for tensor in tensors)
        return coarser(self.results[name].dtype, coarsest)

    def documented(self, backend: str) -> bool:
        """Whether its documentation explains any difference."""
        return bool(documented(self.graph, self.types, self.tensors, backend))

    def vanishing(self, name: str) -> float:
        """What remains by rounding of a gradient that ought to vanish; cotangents are about 1."""
        if self.phase != GRADIENT or name in self.graph.outputs:
            return 0.0
        sizes = (typical(np.abs(self.expected(one))) for one in self.results if one not in self.graph.outputs)
        return VANISHING[self.dtype(name)] * max(1.0, *sizes)

    def strangers(self, backend: str, name: str) -> dict[str, list[Array]]:
        """What the other families made of a result."""
        seen: dict[str, list[Array]] = {}
        for peer in self.sound:
            if family_of(peer) != family_of(backend) and self.fits(peer, name):
                seen.setdefault(family_of(peer), []).append(self.seen(peer, name))
        return seen

    def peers(self, backend: str, name: str) -> Array:
        """What the other families err by; of each the member that errs least."""
        expected = self.expected(name)
        errors = [
            np.minimum.reduce([apart(array, expected) for array in arrays])
            for arrays in self.strangers(backend, name).values()
        ]
        return peers_error(errors, expected)

    def sides_with_reference(self, backend: str, name: str) -> Array:
        """Where most of the other families are finite or not as the reference is; everywhere if there is but one."""
        wanted = kinds(rounded(self.expected(name).astype(np.float64), self.results[name].dtype))
        strangers = self.strangers(backend, name).values()
        votes = [np.any([kinds(array) == wanted for array in arrays], axis=0) for arrays in strangers]
        return np.mean(votes, axis=0) > 0.5 if len(votes) > 1 else np.ones(wanted.shape, bool)


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


def _shared_faults(case: Case, backend: str) -> list[Disagreement]:
    """What would be wrong with one backend if its peers did not err as much."""
    if case.observations[backend].status is not Status.OK:
        return []
    return [one for name in case.results for one in _values(case, backend, name, alone=True)][:1]


def _wrong_type(case: Case, backend: str, name: str) -> Disagreement:
    array = case.observations[backend].arrays.get(name)
    seen = "nothing" if array is None else str(TensorType(tuple(array.shape), array.dtype.name))
    return Disagreement(backend, case.phase, Symptom.TYPE, name, (), seen, str(case.results[name]), np.inf)


def _nonfinite(case: Case, backend: str, name: str) -> Iterator[Disagreement]:
    """Elements that are NaN or infinite on one side only, and not for a rounding or by documentation."""
    if not case.results[name].is_float:
        return
    dtype = case.results[name].dtype
    expected, seen = case.expected(name).astype(np.float64), case.seen(backend, name)
    differ = (kinds(rounded(expected, dtype)) != kinds(seen)) & ~near_overflow(expected, dtype)
    if name not in case.graph.outputs or case.phase == TRAIN:
        # There are conventions, but no law, of infinite slopes, and of slopes where something is infinite.
        differ &= np.isfinite(rounded(expected, dtype)) & case.finite
    if not np.any(differ) or case.documented(backend):
        return
    differ &= is_certain(expected, case.spread[name]) & case.sides_with_reference(backend, name)
    yield from _told(case, backend, name, Symptom.NONFINITE, np.where(differ, np.inf, 0.0))


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
        if (expected != seen).any() and not case.documented(backend):
            yield from _told(case, backend, name, _symptom(name, case), (expected != seen) & (case.spread[name] == 0))
        return
    expected, dtype = expected.astype(np.float64), case.dtype(name)
    error = np.where(np.isfinite(seen) & np.isfinite(expected), apart(seen, expected), 0.0)
    error[near_overflow(expected, dtype) | (np.abs(expected) > np.finfo(dtype).max)] = 0.0
    if (error <= floor(expected, dtype) + case.vanishing(name)).all() or documented(
        case.graph, case.types, case.tensors, backend
    ):
        return
    peers = np.zeros(expected.shape) if alone else case.peers(backend, name)
    granted = (allowance(expected, dtype, case.spread[name], peers) + case.vanishing(name)) * _patience(case)
    excess = np.divide(error, granted, out=np.zeros_like(error), where=np.isfinite(granted))
    yield from _told(case, backend, name, _symptom(name, case), np.where(excess > 1, excess, 0.0))


def _patience(case: Case) -> int:
    """Every step of a training adds its own rounding."""
    return case.graph.training.steps if case.phase == TRAIN and case.graph.training is not None else 1


def _symptom(name: str, case: Case) -> Symptom:
    if case.phase == TRAIN:
        return Symptom.TRAINING
    return Symptom.VALUES if name in case.graph.outputs else Symptom.GRADIENT


def _told(case: Case, backend: str, name: str, symptom: Symptom, excess: Array) -> Iterator[Disagreement]:
    """The most different element, if there is one; of a gradient the most different that finite differences settle."""
    order = np.argsort(excess, axis=None)[::-1]
    expected, seen = case.expected(name), case.seen(backend, name)
    for place in order[:SAMPLED]:
        index = tuple(int(at) for at in np.unravel_index(place, excess.shape))
        if not excess[index]:
            return
        gradient = case.phase == GRADIENT and name not in case.graph.outputs
        if not gradient or is_settled(case.graph, name, index, seen[index], expected[index], case.yardstick):
            texts = f"{seen[index]}", f"{expected[index]}"
            yield Disagreement(backend, case.phase, symptom, name, index, *texts, float(excess[index]))
            return


def _reference_is_doubtful(case: Case, disagreement: Disagreement) -> bool:
    """Whether at least three families agree with each other against it, or nobody but it could run the graph."""
    if disagreement.symptom in (Symptom.CRASH, Symptom.HANG):
        return len({family_of(name) for name in case.others}) > 1 and not case.sound
    if disagreement.symptom is Symptom.TYPE:
        return False
    agreeing = {family_of(name) for name in case.sound if _agrees(case, disagreement, name)}
    families = {family_of(name) for name in case.sound}
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
    return bool(np.isfinite(apart(seen, its)) and apart(seen, its) <= 0.1 * apart(seen, expected))
