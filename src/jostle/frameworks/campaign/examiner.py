"""Turns what backends made of a graph into defects, each with a signature."""

from __future__ import annotations

from collections.abc import Sequence

from jostle.errors import JostleError
from jostle.frameworks.campaign.target import Fault, Observed
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.frameworks.judging.known_issues import KnownIssue, reason_for
from jostle.frameworks.judging.locate import locate
from jostle.frameworks.judging.reference_bounds import ReferenceBounds
from jostle.frameworks.judging.signature import signature_of
from jostle.frameworks.observations import REFERENCE, Runner, Status
from jostle.frameworks.reference.differences import derivative
from jostle.frameworks.reference.run import evaluate_anyhow, result
from jostle.frameworks.reference.undefined import Undefined

REFERENCE_BOUNDS = ReferenceBounds(evaluate_anyhow, result, derivative, Undefined)


def _is_chain_of_infinities(fault: Fault) -> bool:
    """Whether only several operators together are wrong about what is finite, as where 0 meets infinity."""
    return fault.disagreement.symptom is Symptom.NONFINITE and "+" in fault.signature.operator


class Examiner:
    """Judges a graph, locates the guilty operator of every disagreement, and leaves out what is known.

    What documentation leaves open is counted, and a defect only if `report_unspecified`.
    """

    def __init__(self, runner: Runner, known: Sequence[KnownIssue], report_unspecified: bool = False):
        self._runner, self._known, self._report_unspecified = runner, known, report_unspecified
        self.known_seen = 0  # disagreements that were left out
        self.doubted = 0  # disagreements in which the reference stood alone
        self.unspecified = 0  # disagreements where documentation leaves open what is right

    def counts(self) -> dict[str, int]:
        """Disagreements that are no findings, by why they are none."""
        return {"known": self.known_seen, "doubted": self.doubted, "unspecified": self.unspecified}

    def __call__(self, graph: Graph, phase: str, observed: Observed) -> Sequence[Fault]:
        if observed[REFERENCE].status is Status.CRASHED:
            raise JostleError(f"our reference fails on a model, which is a defect of ours: {observed[REFERENCE].crash}")
        verdict = judge(graph, phase, observed, REFERENCE_BOUNDS)
        self.doubted += len(verdict.doubted)
        self.unspecified += len(verdict.unspecified)
        unspecified = verdict.unspecified if self._report_unspecified else ()
        faults = self.faults(graph, (*verdict.found, *unspecified))
        chains = [fault for fault in faults if _is_chain_of_infinities(fault)]
        self.doubted += len(chains)
        faults = [fault for fault in faults if fault not in chains]
        new = [fault for fault in faults if reason_for(fault.signature, self._known) is None]
        self.known_seen += len(faults) - len(new)
        return new

    def faults(self, graph: Graph, found: Sequence[Disagreement]) -> list[Fault]:
        """The defects that disagreements show, known or not."""
        return [self._fault(graph, one) for one in found]

    def _fault(self, graph: Graph, disagreement: Disagreement) -> Fault:
        located = locate(graph, disagreement, self._runner, REFERENCE_BOUNDS)
        return Fault(signature_of(located, disagreement), disagreement, located.graph)
