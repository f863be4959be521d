"""A small perturbation may not change the label."""

from __future__ import annotations

from jostle.lineage import Change
from jostle.part import Part, first_line
from jostle.records import MODEL, NO_LABEL, Candidates, Trace, Verdicts, Violation


class LabelKept:
    """The mutant has its root's label (the true one where given, else what the model said of the root)."""

    looks_inside = False

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        scores = trace.outputs[MODEL].flatten(1)  # [batch, classes]
        labels = scores.argmax(1)
        classes = scores.shape[1]
        flipped = (labels != candidates.labels) & (candidates.labels != NO_LABEL) & scores.isfinite().all(1)
        bugs = (candidates.roots * classes + candidates.labels.clamp(min=0)) * classes + labels

        def describe(row: int) -> Violation:
            before, after = int(candidates.labels[row]), int(labels[row])
            mutant = candidates.mutations[row].change is not Change.SEED
            return Violation(
                "flip",
                f"flip:{int(candidates.roots[row])}:{before}:{after}",
                f"label {before} became {after}"
                if mutant
                else f"the seed itself, labelled {before}, is taken for {after}",
                {"label": before, "taken for": after, "scores": scores[row].tolist()},
            )

        return Verdicts.where("flip", trace, flipped, bugs, describe)


FLIP = Part(first_line(LabelKept), lambda settings, _: LabelKept())
