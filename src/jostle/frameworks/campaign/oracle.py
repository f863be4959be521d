"""The oracles of frameworks: one for each backend and symptom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch

from jostle.frameworks.campaign.target import Fault
from jostle.frameworks.judging.disagreement import FAILURES, Disagreement, Symptom
from jostle.frameworks.judging.signature import Identity, identity_of
from jostle.records import NO_BUG, Candidates, Trace, Verdicts, Violation

# The defects that graphs show, by the graphs' numbers
FaultsOfGraphs = Callable[[], Mapping[int, tuple[Fault, ...]]]
Shown = Callable[[str], bool]  # whether a model in the corpus shows the defect of this name


class BackendAgrees:
    """A backend does what the reference and the other backends do, as far as one symptom shows."""

    looks_inside = True
    compares_with_truth = False

    def __init__(self, backend: str, symptom: Symptom, faults: FaultsOfGraphs, shown_by_parents: Shown):
        self._backend, self._symptom, self._faults, self._shown_by_parents = backend, symptom, faults, shown_by_parents

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        graphs = [self._faults().get(number, ()) for number in candidates.inputs.flatten().tolist()]
        faults = [self._fault(shown) for shown in graphs]
        numbers = [NO_BUG if fault is None else identity(fault).number for fault in faults]

        def describe(row: int) -> Violation:
            fault = faults[row]
            assert fault is not None
            return violation_of(fault)

        may_be_parents = torch.tensor([self._may_be_parent(shown) for shown in graphs], dtype=torch.bool)
        return Verdicts(self._symptom, torch.tensor(numbers, dtype=torch.int64), describe, may_be_parents)

    def _fault(self, shown: Sequence[Fault]) -> Fault | None:
        """The first of this backend and symptom that no parent shows, which may be new; else the first."""
        ours = [fault for fault in shown if self._is_ours(fault.disagreement)]
        return next((fault for fault in ours if not self._shown_by_parents(fault.name)), next(iter(ours), None))

    def _is_ours(self, disagreement: Disagreement) -> bool:
        return disagreement.backend == self._backend and disagreement.symptom == self._symptom

    def _may_be_parent(self, shown: Sequence[Fault]) -> bool:
        """Whether a graph is mutated all the same (§3.2): it shows a defect that no parent does, and fails nowhere."""
        fails = any(fault.disagreement.symptom in FAILURES for fault in shown)
        return not fails and not all(self._shown_by_parents(fault.name) for fault in shown)


def identity(fault: Fault) -> Identity:
    return identity_of(fault.disagreement.symptom, fault.signature)


def violation_of(fault: Fault) -> Violation:
    signature, disagreement, shown = fault.signature, fault.disagreement, fault.shown
    details = {
        "signature": signature.text,
        "backend": disagreement.backend,
        "phase": disagreement.phase,
        "operator": signature.operator,
        "tensor": shown.tensor,
        "seen": shown.seen,
        "expected": shown.expected,
    }
    if disagreement.crash is not None:
        details |= {"error": disagreement.crash.error, "message": disagreement.crash.message}
        details["traceback"] = disagreement.crash.traceback
    if fault.known is not None:
        details["known"] = str(fault.known)
    return Violation(disagreement.symptom, identity(fault).fingerprint, summary_of(fault), details)


def summary_of(fault: Fault) -> str:
    """A defect in a sentence."""
    return _without_known(fault) if fault.known is None else f"{_without_known(fault)} (known: {fault.known})"


def _without_known(fault: Fault) -> str:
    signature, disagreement = fault.signature, fault.disagreement
    what = f"{disagreement.backend} {disagreement.phase}: {signature.operator}"
    if disagreement.crash is not None:
        return f"{what} fails with {disagreement.crash.error}: {disagreement.crash.message}"
    shown = fault.shown
    return f"{what} gives {shown.seen} where {shown.expected} is right ({shown.tensor})"
