"""The oracles of frameworks: one for each backend and symptom."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from jostle.frameworks.campaign.target import Fault
from jostle.frameworks.judging.disagreement import Symptom
from jostle.frameworks.judging.signature import Identity, identity_of
from jostle.records import NO_BUG, Candidates, Trace, Verdicts, Violation

# The defects that graphs show, by the graphs' numbers
FaultsOfGraphs = Callable[[], Mapping[int, tuple[Fault, ...]]]


class BackendAgrees:
    """A backend does what the reference and the other backends do, as far as one symptom shows."""

    looks_inside = True
    compares_with_truth = False

    def __init__(self, backend: str, symptom: Symptom, faults: FaultsOfGraphs):
        self._backend, self._symptom, self._faults = backend, symptom, faults

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        faults = [self._fault(number) for number in candidates.inputs.flatten().tolist()]
        numbers = [NO_BUG if fault is None else identity(fault).number for fault in faults]

        def describe(row: int) -> Violation:
            fault = faults[row]
            assert fault is not None
            return violation_of(fault)

        return Verdicts(self._symptom, torch.tensor(numbers, dtype=torch.int64), describe)

    def _fault(self, number: int) -> Fault | None:
        for fault in self._faults().get(number, ()):
            if fault.disagreement.backend == self._backend and fault.disagreement.symptom == self._symptom:
                return fault
        return None


def identity(fault: Fault) -> Identity:
    return identity_of(fault.disagreement.symptom, fault.signature)


def violation_of(fault: Fault) -> Violation:
    signature, disagreement = fault.signature, fault.disagreement
    details = {
        "signature": signature.text,
        "backend": disagreement.backend,
        "phase": disagreement.phase,
        "operator": signature.operator,
        "tensor": disagreement.tensor,
        "seen": disagreement.seen,
        "expected": disagreement.expected,
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
    return f"{what} gives {disagreement.seen} where {disagreement.expected} is right ({disagreement.tensor})"
