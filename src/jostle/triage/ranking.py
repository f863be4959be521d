"""How much a user should care about a finding or a defect, each reason from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from jostle.lineage import Mutation
from jostle.records import MODEL
from jostle.storage.finding_record import Answer, FinishedGraph
from jostle.storage.step_words import operation_class, size_of
from jostle.triage.triaged_finding import TriagedFinding

USUAL_CHANGE = 0.1  # relative to the reference's length: a change of this size counts half
SMALL, CONFIDENT, SEEDS, AS_FILE = "small change", "confident", "many seeds", "survives as an image file"
FEW = "few operators"
CERTAIN = ("crash", "nan")  # kinds in which nothing is a matter of degree

# What a movement of an image is compared with, by class: the one that makes it another picture.
FAR = {"rotation": 90.0, "translation": 0.5, "shearing": 1.0}


def reasons_of(finding: TriagedFinding) -> dict[str, float]:
    """What speaks for one finding, as far as known."""
    graph = finding.record.finished
    if isinstance(graph, FinishedGraph):
        return {FEW: 1 / max(len(graph.operators), 1)}
    reasons = {SMALL: 1 / (1 + _change(finding) / USUAL_CHANGE), CONFIDENT: _confidence(finding)}
    known = {name: value for name, value in reasons.items() if value is not None}
    return known if finding.as_file is None else {**known, AS_FILE: float(finding.as_file)}


def order_of(finding: TriagedFinding) -> tuple[float, float, str]:
    """Sorts findings of one defect, the one that shows it best first."""
    return -finding.rate, -fmean(reasons_of(finding).values()), finding.name


def reasons_together(findings: Sequence[TriagedFinding], seeds: int, most_seeds: int) -> dict[str, float]:
    """What speaks for a defect: what its best finding shows, and how many seeds do."""
    many = math.log1p(seeds) / math.log1p(max(most_seeds, 1))
    return {**reasons_of(findings[0]), SEEDS: many}


def weight_of(reasons: Mapping[str, float]) -> float:
    return round(fmean(reasons.values()), 6)


def _change(finding: TriagedFinding) -> float:
    """How far the input is from its seed: values that changed, and how far an image was moved."""
    finished = finding.finished
    if finished is not None:
        values = (finished.minimised or finished.change).relative
    else:
        values = finding.record.largest_change or 0.0
    far = values + sum(_moved(step) for step in finding.steps)
    return far if math.isfinite(far) else math.inf


def _moved(step: Mutation) -> float:
    return sum(_movement(operation) for operation in step.operations)


def _movement(operation: str) -> float:
    kind, size = operation_class(operation), size_of(operation)
    if size is None:
        return 0.0
    if kind == "scaling":
        return abs(math.log(size)) if size > 0 else 1.0
    return abs(size) / FAR[kind] if kind in FAR else 0.0


def _confidence(finding: TriagedFinding) -> float | None:
    """How sure the wrong answer is; of twins and panels, of those that disagree the one that is least sure."""
    if finding.record.kind in CERTAIN:
        return 1.0
    said = wrong_answers(finding)
    return min((one.confidence for one in said.values()), default=None)


def wrong_answers(finding: TriagedFinding) -> Mapping[str, Answer]:
    """What each model says of the input, by variant: as it was found, because minimising ends where it is unsure."""
    answers = finding.finished.answers if finding.finished else {}
    said = answers.get("input") or answers.get("minimised") or {}
    return {MODEL: said[MODEL]} if finding.record.kind == "flip" and MODEL in said else said
