"""A small perturbation may not change the label."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.lineage import Change
from jostle.options.schema import Settings
from jostle.part import ComparedWith, Part, PartContext, first_line
from jostle.records import MODEL, NO_LABEL, Candidates, Trace, Verdicts, Violation
from jostle.task import LabelReading, Task

BEST_CLASS = LabelReading(Task.CLASSES)


class LabelKept:
    """The mutant has its root's label (the true one where given, else what the model said of the root)."""

    looks_inside = False
    compares_with_truth = True

    def __init__(self, reading: LabelReading = BEST_CLASS):
        self._reading = reading

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        scores = trace.outputs[MODEL].reshape(len(candidates), -1)  # [batch, classes]
        said = self._reading.labels(scores)
        if said.ndim > 1:
            return _sets_kept(candidates, trace, scores, said)
        known, finite = candidates.labels != NO_LABEL, scores.isfinite().all(1)
        kinds = max(scores.shape[1], 2)
        bugs = (candidates.roots * kinds + candidates.labels.clamp(min=0)) * kinds + said

        def describe(row: int) -> Violation:
            before, after = int(candidates.labels[row]), int(said[row])
            fingerprint = f"flip:{int(candidates.roots[row])}:{before}:{after}"
            details = {"label": before, "taken for": after, "scores": scores[row].tolist()}
            return Violation("flip", fingerprint, _summary(candidates, row, before, after), details)

        return Verdicts.where("flip", trace, (said != candidates.labels) & known & finite, bugs, describe)


def _sets_kept(candidates: Candidates, trace: Trace, scores: Tensor, said: Tensor) -> Verdicts:
    """The same of models that give several labels at once; a bug is a root and the first label that differs."""
    differ = said != candidates.labels  # [batch, labels]
    first = differ.long().argmax(1)
    appears = said.gather(1, first[:, None]).squeeze(1)
    bugs = (candidates.roots * said.shape[1] + first) * 2 + appears

    def describe(row: int) -> Violation:
        before, after = (_members(labels[row]) for labels in (candidates.labels, said))
        word = "appears" if appears[row] else "vanishes"
        fingerprint = f"flip:{int(candidates.roots[row])}:{int(first[row])}:{word}"
        details = {"labels": before, "taken for": after, "scores": scores[row].tolist()}
        return Violation("flip", fingerprint, _summary(candidates, row, before, after), details)

    return Verdicts.where("flip", trace, differ.any(1) & scores.isfinite().all(1), bugs, describe)


def _members(labels: Tensor) -> list[int]:
    """Which labels an input has, of 0 and 1 for each [labels]."""
    members: list[int] = torch.nonzero(labels).squeeze(1).tolist()
    return members


def _summary(candidates: Candidates, row: int, before: object, after: object) -> str:
    if candidates.mutations[row].change is Change.SEED:
        return f"the seed itself, labelled {before}, is taken for {after}"
    return f"label {before} became {after}"


def _flip(settings: Settings, context: PartContext) -> LabelKept:
    return LabelKept(context.reading)


FLIP = Part(first_line(LabelKept), _flip, compares=ComparedWith.SEED)
