"""Every defect of one backend and one symptom as violations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import torch

from jostle.frameworks.campaign.target import Fault
from jostle.frameworks.judging.disagreement import Symptom
from jostle.records import NO_BUG, Candidates, Trace, Verdicts, Violation

# What graphs show, by number
Shown = Callable[[], Mapping[int, tuple[Fault, ...]]]


class Agrees:
    """A backend does what the reference and its peers do, as far as one symptom can tell."""

    looks_inside = True

    def __init__(self, backend: str, symptom: Symptom, shown: Shown):
        self._backend, self._symptom, self._shown = backend, symptom, shown

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        faults = [self._fault(number) for number in candidates.inputs.flatten().tolist()]
        bugs = torch.tensor([_bug(fault) for fault in faults], dtype=torch.int64)

        def describe(row: int) -> Violation:
            fault = faults[row]
            assert fault is not None
            return violation_of(fault)

        return Verdicts(self._symptom, bugs, describe)

    def _fault(self, number: int) -> Fault | None:
        for fault in self._shown().get(number, ()):
            if fault.disagreement.backend == self._backend and fault.disagreement.symptom == self._symptom:
                return fault
        return None


def _bug(fault: Fault | None) -> int:
    if fault is None:
        return NO_BUG
    return int.from_bytes(hashlib.sha256(fault.signature.text.encode()).digest()[:7], "big")


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
    fingerprint = f"{disagreement.backend} {signature.operator} {disagreement.symptom} {disagreement.phase}"
    return Violation(disagreement.symptom, fingerprint, summary_of(fault), details)


def summary_of(fault: Fault) -> str:
    signature, disagreement = fault.signature, fault.disagreement
    what = f"{disagreement.backend} {disagreement.phase}: {signature.operator}"
    if disagreement.crash is not None:
        return f"{what} fails with {disagreement.crash.error}: {disagreement.crash.message}"
    return f"{what} gives {disagreement.seen} where {disagreement.expected} is right ({disagreement.tensor})"
