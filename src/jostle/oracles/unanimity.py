"""Models of one task must answer alike."""

from __future__ import annotations

import torch

from jostle.options.campaign import PanelOptions
from jostle.part import ComparedWith, Part, first_line
from jostle.records import Candidates, Trace, Verdicts, Violation

MANY = 1_000_003  # more than there are classes, and prime: numbers of many models may wrap around, and do not meet
LARGEST_NUMBER = 2**63 - 1


class Unanimous:
    """All models of the panel give the same class (DeepXplore); one bug per root and set of answers."""

    looks_inside = False
    compares_with_truth = False

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        scores = [outputs.flatten(1) for outputs in trace.outputs.values()]
        labels = torch.stack([some.argmax(1) for some in scores])  # [models, batch]
        finite = torch.stack([some.isfinite().all(1) for some in scores]).all(0)
        differ = (labels != labels[:1]).any(0) & finite
        bugs = candidates.roots.clone()
        for some in labels:
            bugs = (bugs * MANY + some) & LARGEST_NUMBER

        def describe(row: int) -> Violation:
            answers = dict(zip(trace.outputs, labels[:, row].tolist(), strict=True))
            summary = ", ".join(f"{name} says {label}" for name, label in answers.items())
            fingerprint = ":".join(map(str, ("differ", int(candidates.roots[row]), *answers.values())))
            return Violation("differ", fingerprint, summary, {"labels": answers})

        return Verdicts.where("differ", trace, differ, bugs, describe)


DIFFER = Part(first_line(Unanimous), lambda settings, _: Unanimous(), (PanelOptions,), compares=ComparedWith.VARIANT)
