"""Findings and defects in words: what changed, what the model said before and after, and how sure it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jostle.records import MODEL
from jostle.storage.class_names import ClassNames
from jostle.storage.finding_record import NOT_FINITE, Answer, FindingRecord, FinishedGraph, InputType
from jostle.storage.findings import true_label
from jostle.storage.step_words import OF_VALUES
from jostle.triage.causes import label_pair, mutation_classes, trait_of
from jostle.triage.change_words import changes_of, values_changed
from jostle.triage.graph_causes import variants_in_words
from jostle.triage.triaged_finding import TriagedFinding

LONGEST_TITLE = 120  # characters
LONGEST_MESSAGE = 80  # characters of an exception's
NAMED = 4  # classes of mutations
BY = " by at most "
NOT_WATCHED = ", by something before it that is not watched"


@dataclass(frozen=True)
class Words:
    """Says what findings are, with the names of classes where they are known."""

    classes: ClassNames = field(default_factory=dict)

    def label(self, label: int) -> str:
        """What a class is called."""
        return self.classes.get(label, str(label))

    def answer(self, answer: Answer) -> str:
        return f"{self.label(answer.label)} ({answer.confidence:.1%})"

    def title(self, findings: Sequence[TriagedFinding]) -> str:
        """A defect in one line, by the finding that shows it best."""
        told = f"{self._what(findings[0])}{self._when(findings[0])}"
        return told if len(told) <= LONGEST_TITLE else f"{told[: LONGEST_TITLE - 1]}…"

    def explanation(self, findings: Sequence[TriagedFinding]) -> tuple[str, ...]:
        """A defect in sentences, by the finding that shows it best; the last says how many others there are."""
        best = findings[0]
        if best.record.input_type is InputType.GRAPH:
            return tuple(sentence for sentence in (*_of_graph(best), variants_in_words(findings)) if sentence)
        sentences = [self.change(best), *self.said(best), *_begins(best), *_rate(best), _shown_by(findings)]
        return tuple(sentence for sentence in sentences if sentence)

    def change(self, finding: TriagedFinding) -> str:
        """What changed from the seed to the input."""
        done, values = ", ".join(changes_of(finding)), values_changed(finding)
        if done and values:
            return f"Changed: {done} ({values})."
        return f"Changed: {done or values}." if done or values else "Nothing changed: it is the seed itself."

    def said(self, finding: TriagedFinding) -> list[str]:
        """What the model, and what is beside it, said before and after."""
        answers = finding.finished.answers if finding.finished else {}
        after = answers.get("minimised") or answers.get("input") or {}
        before = answers.get("seed") or answers.get("reference") or {}
        told = []
        if MODEL in after:
            once = f", of the seed {self.answer(before[MODEL])}" if MODEL in before else ""
            told.append(f"The model says {self.answer(after[MODEL])}{once}.")
        others = {_variant(name, finding): one for name, one in after.items() if name != MODEL}
        told.extend(
            f"{name} says {self.answer(one)}.".replace("the twin", "The twin", 1) for name, one in others.items()
        )
        truth = self.truth(finding)
        return [*told, f"The true label is {truth}."] if truth else told

    def truth(self, finding: TriagedFinding) -> str:
        """The true label of the seed, "" where it is unknown or no class."""
        label = true_label(finding.folder, finding.record)
        return "" if label is None else self.label(label)

    def _what(self, finding: TriagedFinding) -> str:
        record, family = finding.record, finding.record.kind.partition(" ")[0]
        pair = label_pair(record)
        if family == "flip" and pair:
            return f"{self.label(pair[0])} taken for {self.label(pair[1])}"
        if family == "agree" and pair:
            beside = _variant(record.kind.partition(" ")[2], finding)
            return f"the model says {self.label(pair[0])}, {beside} {self.label(pair[1])}"
        if family == "crash" and record.input_type is InputType.ARRAY:
            return _crash(record)
        if family == "nan" and record.input_type is InputType.ARRAY:
            return _not_finite(finding)
        return " ".join(record.summary.split())

    def _when(self, finding: TriagedFinding) -> str:
        if finding.record.largest_change is None:
            return ""
        told = sorted(changes_of(finding), key=list(OF_VALUES.values()).__contains__)  # "when moved, with noise"
        done, values = ", ".join(told[:NAMED]), values_changed(finding)
        if set(told) - set(OF_VALUES.values()) or (told and not values):
            return f" when {done}" if done.startswith(PASSIVE) else f" after {done}"
        if BY in values:
            return f" when {values.replace(BY, f' change{BY}', 1)}"
        return f": {values}" if values else ""


PASSIVE = (
    "rotated",
    "moved",
    "enlarged",
    "shrunk",
    "sheared",
    "a little",
    "blurred",
    "darker",
    "brighter",
    "louder",
    "quieter",
    "faster",
    "slower",
)


def _not_finite(finding: TriagedFinding) -> str:
    location = finding.finished.location if finding.finished else None
    if location is not None and location.passed_on:
        return f"NaN or infinity first seen in {location.layer}, which was given it already"
    return trait_of(finding).what


def _crash(record: FindingRecord) -> str:
    """The exception with its message, and where it was raised."""
    details = record.details
    message = " ".join(str(details.get("message", "")).split())
    cut = message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"
    error, where = details.get("error", "crash"), details.get("where")
    return f"{error}{f': {cut}' if cut else ''}{f' ({where})' if where else ''}"


def _of_graph(finding: TriagedFinding) -> Iterator[str]:
    """What is known of a graph that frameworks run differently."""
    finished = finding.record.finished
    yield f"{' '.join(finding.record.summary.split())}."
    if isinstance(finished, FinishedGraph):
        yield f"Reduced to {', '.join(finished.operators) or 'no operator'}."
        if not finished.reproduced:
            yield "Its script does not show it in a process of its own."


def _variant(name: str, finding: TriagedFinding) -> str:
    """What the user calls a twin or another model."""
    finished = finding.finished
    if finished is not None and finished.divergence is not None:
        return finished.divergence.twin
    return name if name and name != "twin" else "the twin"


def _begins(finding: TriagedFinding) -> list[str]:
    """Where it begins, as far as anybody looked."""
    finished = finding.finished
    if finished is None:
        return []
    location, divergence = finished.location, finished.divergence
    if location is not None and location.passed_on:
        return [f"It is first seen in {location.layer}, which was given NaN or infinity already{NOT_WATCHED}."]
    if location is not None and location.why == NOT_FINITE:
        return [f"{location.layer} made it from values between {location.low:.3g} and {location.high:.3g}."]
    if location is not None:
        return [f"It departs from the seed's course in {location.layer}."]
    if divergence is not None and divergence.begins is not None:
        return [f"{divergence.twin} departs from the model in {divergence.begins}."]
    return []


def _rate(finding: TriagedFinding) -> list[str]:
    return [f"It shows in {finding.rate:.0%} of the runs."] if finding.rate < 1 else []


def _shown_by(findings: Sequence[TriagedFinding]) -> str:
    """How many findings show a defect, from how many seeds, by which mutations."""
    seeds = len({finding.record.root for finding in findings})
    by_class = Counter(kind for finding in findings for kind in mutation_classes(finding.steps))
    return f"Shown by {counted(len(findings), 'finding')} from {counted(seeds, 'seed')}{_by(by_class)}."


def _by(by_class: Mapping[str, int]) -> str:
    named = [f"{kind} ({count:,})" for kind, count in Counter(by_class).most_common(NAMED)]
    more = len(by_class) - len(named)
    return f", by {', '.join(named)}{f' and {more} more' if more else ''}" if named else ""


def counted(count: int, noun: str) -> str:
    """So many of something, in words."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
