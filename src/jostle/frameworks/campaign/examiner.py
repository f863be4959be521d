"""Turns what backends made of a graph into defects, each with a signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jostle.errors import JostleError
from jostle.frameworks.campaign.options import SAMPLED
from jostle.frameworks.campaign.target import Examined, Fault, Observed
from jostle.frameworks.graph import Graph
from jostle.frameworks.judging.case import Case
from jostle.frameworks.judging.compare import judge_case
from jostle.frameworks.judging.disagreement import FAILURES, Disagreement, GraphJudgement, Symptom
from jostle.frameworks.judging.inconsistency import Pairs, inconsistency
from jostle.frameworks.judging.known_issues import KnownIssue, known_as
from jostle.frameworks.judging.locate import Located, Patience, locate
from jostle.frameworks.judging.reference_bounds import ReferenceBounds
from jostle.frameworks.judging.signature import frame_of, signature_of
from jostle.frameworks.observations import REFERENCE, Runner, Status
from jostle.frameworks.reference.differences import derivative
from jostle.frameworks.reference.run import evaluate_anyhow, result
from jostle.frameworks.reference.undefined import Undefined
from jostle.graph_signature import TOGETHER, Signature

REFERENCE_BOUNDS = ReferenceBounds(evaluate_anyhow, result, derivative, Undefined)


def _is_chain_of_infinities(fault: Fault) -> bool:
    """Whether only several operators together are wrong about what is finite, as where 0 meets infinity."""
    return fault.disagreement.symptom is Symptom.NONFINITE and TOGETHER in fault.signature.operator


class Examiner:
    """Judges a graph, locates the guilty operators of every disagreement, and leaves out what is known.

    What documentation leaves open is counted, and a defect only if `report_unspecified`; what is known only if
    `report_known`.
    """

    def __init__(
        self,
        runner: Runner,
        known: Sequence[KnownIssue],
        report_unspecified: bool = False,
        report_known: bool = False,
    ):
        self._runner, self.known = runner, known
        self._report_unspecified, self._report_known = report_unspecified, report_known
        self._enough: Callable[[], bool] = lambda: False
        self._recent: dict[object, list[Fault]] = {}  # of the step's graphs: a new finding is looked at once more
        self.known_seen = 0  # disagreements that were left out
        self.doubted = 0  # disagreements in which the reference stood alone
        self.unspecified = 0  # disagreements where documentation leaves open what is right

    def ask_between_parts(self, enough: Callable[[], bool]) -> None:
        """A location is left before a part of a graph where this is true, or raises."""
        self._enough = enough

    def forget(self) -> None:
        """Lets go of the graphs of a step."""
        self._recent.clear()

    def counts(self) -> dict[str, int]:
        """Disagreements that are no findings, by why they are none."""
        return {"known": self.known_seen, "doubted": self.doubted, "unspecified": self.unspecified}

    def __call__(self, graph: Graph, phase: str, observed: Observed) -> Examined:
        if observed[REFERENCE].status is Status.CRASHED:
            raise JostleError(f"our reference fails on a model, which is a defect of ours: {observed[REFERENCE].crash}")
        case = Case(graph, phase, observed, REFERENCE_BOUNDS)
        verdict = judge_case(case)
        self.doubted += len(verdict.doubted)
        self.unspecified += len(verdict.unspecified)
        unspecified = verdict.unspecified if self._report_unspecified else ()
        candidates = (*verdict.found, *unspecified)
        faults = self.faults(graph, candidates)
        chains = [fault for fault in faults if _is_chain_of_infinities(fault)]
        self.doubted += len(chains)
        faults = [fault for fault in faults if fault not in chains]
        known = [] if self._report_known else [fault for fault in faults if fault.known is not None]
        self.known_seen += len(known)
        return Examined(
            faults=tuple(fault for fault in faults if fault not in known),
            known_failures=tuple(fault for fault in known if fault.disagreement.symptom in FAILURES),
            inconsistency=_inconsistency(case, verdict),
        )

    def faults(self, graph: Graph, found: Sequence[Disagreement]) -> list[Fault]:
        """The defects that disagreements show, known or not; Unlocated if the campaign has no time for it."""
        return [fault for one in found for fault in self._faults(graph, one)]

    def _faults(self, graph: Graph, found: Disagreement) -> list[Fault]:
        """Those that one disagreement shows, each signature once."""
        same = (graph.encoded, found.backend, found.phase, found.symptom, frame_of(found.crash))
        if same not in self._recent:
            by_signature: dict[Signature, Fault] = {}
            for located in self._located(graph, found):
                fault = self._fault(found, located)
                by_signature.setdefault(fault.signature, fault)
            self._recent[same] = list(by_signature.values())
        return self._recent[same]

    def _fault(self, found: Disagreement, located: Located) -> Fault:
        signature = signature_of(located, found)
        return Fault(signature, found, located.graph, located.disagreement, known_as(signature, self.known))

    def _located(self, graph: Graph, found: Disagreement) -> list[Located]:
        is_slow = found.backend.partition("@")[0] in SAMPLED  # in whatever interpreter
        patience = Patience.with_slow_backend(self._enough) if is_slow else Patience(enough=self._enough)

        def is_known(located: Located) -> bool:
            return known_as(signature_of(located, found), self.known) is not None

        return locate(graph, found, self._runner, REFERENCE_BOUNDS, patience, is_known)


def _inconsistency(case: Case, verdict: GraphJudgement) -> Pairs:
    """Of those that nothing was said of; what a backend is wrong by is a defect, and would hide all else."""
    if not case.has_reference:
        return {}
    said = (*verdict.found, *verdict.doubted, *verdict.unspecified)
    return inconsistency(case, {one.backend for one in said})
