"""How far each backend is from the reference on one graph, also where it is not wrong."""

from __future__ import annotations

from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.case import Case, Observations
from jostle.frameworks.judging.compare import excess_of
from jostle.frameworks.judging.reference_bounds import ReferenceBounds
from jostle.frameworks.observations import REFERENCE, Status


def distances(graph: Graph, phase: str, observations: Observations, bounds: ReferenceBounds) -> dict[str, float | str]:
    """By backend, the largest distance in units of what is granted, or why there is none.

    Of whole numbers, and of what is not finite, only the judge says what is wrong: their distance is 0.
    """
    reference = observations[REFERENCE]
    if reference.status is not Status.OK:
        why = reference.reason or str(reference.status)
        return {name: f"no reference: {why}" for name in observations if name != REFERENCE}
    case = Case(graph, phase, observations, bounds)
    return {name: _distance(case, name) for name in observations if name != REFERENCE}


def _distance(case: Case, backend: str) -> float | str:
    observation = case.observations[backend]
    if observation.status is not Status.OK:
        return f"{observation.status}: {observation.reason}" if observation.reason else str(observation.status)
    floats = [name for name, type_ in case.results.items() if type_.is_float and case.fits(backend, name)]
    return max((float(excess_of(case, backend, name).max(initial=0.0)) for name in floats), default=0.0)
