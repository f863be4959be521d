"""What a finding's record says of its cause: equal for findings that only differ by the seed that they came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jostle.lineage import Mutation
from jostle.records import MODEL
from jostle.storage.defect_record import SEVERAL
from jostle.storage.finding_record import NOT_FINITE, FindingRecord, FinishedArray, InputType
from jostle.storage.step_words import operation_class
from jostle.triage.graph_causes import graph_cause
from jostle.triage.triaged_finding import TriagedFinding

TO = " → "
FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in (\S+)')
SEPARATOR = re.compile(r"[/\\]")  # of folders, on any system
FRAMES = 2  # innermost ones that tell crashes apart
LONGEST = 200  # characters of what tells causes apart


class Trait(NamedTuple):
    """What must be equal for findings to have one cause."""

    kind: str
    what: str
    layer: str  # where it certainly begins, "" where that cannot be told


def trait_of(finding: TriagedFinding) -> Trait:
    """What a finding's record tells of its cause."""
    record = finding.record
    if record.input_type is InputType.GRAPH:
        cause = graph_cause(record)
        if cause is None:
            return Trait(record.kind, _cut(record.graph_defect.signature), "")
        return Trait(cause.symptom, _cut(str(cause)), "")
    family = record.kind.partition(" ")[0]
    what = WHAT.get(family, _fingerprint)(finding)
    return Trait(record.kind, _cut(what), _certain_layer(finding))


def layer_of(finding: TriagedFinding) -> str:
    """Where it begins as far as anybody looked, "" where nobody did."""
    finished = finding.finished
    if finished is None:
        return ""
    if finished.location is not None:
        return finished.location.layer
    return (finished.divergence.begins or "") if finished.divergence is not None else ""


def _certain_layer(finding: TriagedFinding) -> str:
    """The first layer with a NaN, or where a twin departs farther than on any seed; other departures are a guess."""
    finished = finding.finished
    if finished is None:
        return ""
    if finished.location is not None and finished.location.why == NOT_FINITE:
        return finished.location.layer
    divergence = finished.divergence
    return (divergence.begins or "") if divergence is not None and divergence.beyond_seeds else ""


def mutation_classes(steps: tuple[Mutation, ...]) -> tuple[str, ...]:
    """The classes of all operations on the way, each once, in order."""
    operations = (operation for step in steps for operation in step.operations)
    return tuple(dict.fromkeys(operation_class(one) for one in operations))


def common_class(classes: tuple[str, ...]) -> str:
    return SEVERAL if len(classes) > 1 else next(iter(classes), "")


def label_pair(record: FindingRecord) -> tuple[int, int] | None:
    """What was said and what should have been, or what model and twin say; None where there is no such pair."""
    details, family = record.details, record.kind.partition(" ")[0]
    if family == "flip" and isinstance(details.get("label"), int):
        return record.label_change.label, record.label_change.taken_for
    if family == "agree" and "margins" in details:
        ours, theirs = (_largest(details.get(name)) for name in ("model", "twin"))
        return None if ours is None or theirs is None else (ours, theirs)
    return None


def fewest_classes(record: FindingRecord) -> int:
    """How many classes the model has at least, as far as one finding tells."""
    finished = record.finished if isinstance(record.finished, FinishedArray) else None
    said = [one.label for answers in finished.answers.values() for one in answers.values()] if finished else []
    scored = [len(scores) for scores in map(record.details.get, ("scores", MODEL)) if isinstance(scores, list)]
    named: list[int] = [label + 1 for label in (*said, *(label_pair(record) or ()))]
    return max([0, *scored, *named])


def _flip(finding: TriagedFinding) -> str:
    pair = label_pair(finding.record)
    return f"{pair[0]}{TO}{pair[1]}" if pair else _without_root(finding, 1)


def _agree(finding: TriagedFinding) -> str:
    pair = label_pair(finding.record)
    return f"{pair[0]}{TO}{pair[1]}" if pair else _without_root(finding, 2)


def _not_finite(finding: TriagedFinding) -> str:
    place = finding.record.details.get("place", "output")
    return f"{_certain_layer(finding) or place} is not finite"


def _crash(finding: TriagedFinding) -> str:
    details = finding.record.details
    frames = FRAME.findall(str(details.get("traceback", "")))[-FRAMES:]
    names = [f"{SEPARATOR.split(file)[-1]}:{line} in {function}" for file, line, function in frames]
    return f"{details.get('error', 'crash')} {' from '.join(reversed(names)) or details.get('where', '')}"


def _property(finding: TriagedFinding) -> str:
    return finding.record.fingerprint.partition(":")[2]


def _differ(finding: TriagedFinding) -> str:
    labels: Any = finding.record.details.get("labels")
    return " ".join(map(str, labels.values())) if isinstance(labels, dict) else _without_root(finding, 1)


def _fingerprint(finding: TriagedFinding) -> str:
    return _without_root(finding, 1)


def _sequence(finding: TriagedFinding) -> str:
    return _without_root(finding, 2)


def _without_root(finding: TriagedFinding, place: int) -> str:
    """The parts of the fingerprint after the kind, but for the root, which stands at this place where there is one."""
    parts = finding.record.fingerprint.split(":")
    if place < len(parts) and parts[place] == str(finding.record.root):
        del parts[place]
    return " ".join(parts[1:])


def _largest(scores: object) -> int | None:
    """The class with the largest score; None where they are no numbers."""
    if not isinstance(scores, list) or not scores or not all(isinstance(one, int | float) for one in scores):
        return None
    return max(range(len(scores)), key=scores.__getitem__)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


WHAT: Mapping[str, Callable[[TriagedFinding], str]] = {
    "flip": _flip,
    "agree": _agree,
    "nan": _not_finite,
    "crash": _crash,
    "property": _property,
    "differ": _differ,
    "sequence": _sequence,
}
