"""Where failures were located: what fails like one of them, in a model that holds the same, needs no location."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jostle.foreign import Crash
from jostle.frameworks.backends.program import GRADIENT, TRAIN
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.judging.locate import Located
from jostle.frameworks.judging.signature import class_of, frame_of, holds, without_numbers
from jostle.graph_signature import Signature

LONGEST = 200  # characters of a message
FAILURES = (Symptom.CRASH, Symptom.HANG)


@dataclass(frozen=True)
class CheapSignature:
    """What tells failures apart without running anything."""

    backend: str
    phase: str
    symptom: Symptom
    frame: str
    message: str  # without numbers and names, which differ from model to model


@dataclass(frozen=True)
class LocatedFailure:
    """A failure's signature and the part that shows it."""

    signature: Signature
    located: Located


class Locations:
    """Of each kind of failure, where it was located; wrong results have no message, and are located each time.

    What a process died of has no message either, so there the attributes of the guilty operator must be alike too.
    """

    def __init__(self) -> None:
        self._known: dict[CheapSignature, dict[Signature, Located]] = {}

    def keep(self, found: Disagreement, location: LocatedFailure) -> None:
        for cheap in _cheap_signatures(found)[:1]:
            self._known.setdefault(cheap, {})[location.signature] = location.located

    def recall(self, graph: Graph, found: Disagreement) -> LocatedFailure | None:
        """Where such a failure was located, if the graph holds what was guilty there."""
        fatal = found.crash is None or found.crash.fatal
        for cheap in _cheap_signatures(found):
            for signature, located in self._known.get(cheap, {}).items():
                if holds(graph, signature) and (not fatal or _holds_attributes(graph, signature)):
                    return LocatedFailure(signature, located)
        return None


def _holds_attributes(graph: Graph, signature: Signature) -> bool:
    """Whether the guilty operator stands in the graph with attributes of the same class; several are not looked at."""
    alike = [node for node in graph.nodes if node.operator == signature.operator]
    return not alike or any(class_of([node]) == signature.attributes for node in alike)


def _cheap_signatures(found: Disagreement) -> list[CheapSignature]:
    """Of a failure its own, then that of a gradient which fails like its training; of anything else none."""
    if found.symptom not in FAILURES:
        return []
    phases = [TRAIN, GRADIENT] if found.phase == TRAIN else [found.phase]
    frame, message = frame_of(found.crash), _message_of(found.crash)
    return [CheapSignature(found.backend, phase, found.symptom, frame, message) for phase in phases]


def _message_of(crash: Crash | None) -> str:
    if crash is None or crash.fatal:
        return ""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]", "…", without_numbers(crash.message))[:LONGEST]
