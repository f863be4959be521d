"""What is known of a finding: the content of its finding.json, which is written and read here alone.

The input, its reference and the minimised input stand in arrays beside the record (findings.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jostle.errors import OutputRefused
from jostle.lineage import SEED, Change, Mutation
from jostle.storage.checksums import with_checksum, without_checksum
from jostle.storage.files import as_json, portable
from jostle.storage.json_fields import fields, flag, json_object, number, records, text, texts, whole
from jostle.untrusted.json_text import parsed_json

RECORD = "finding.json"
INPUT_TYPE = "input type"
CUT_OFF = "minimising was cut off"
OWN_LABEL = "label is the model's own answer"  # because the seed had none; left out where it had one
SAME_PROCESS = "in the same process"  # left out where findings ran again in a new one
SEED_ITSELF = "none: the seed itself"  # in place of a mutation
VERSION = 2  # of a record


class InputType(StrEnum):
    """What the inputs of a campaign are."""

    ARRAY = "array"
    GRAPH = "graph"  # a model, which frameworks run; its array holds the number that the graph's file is named after


@dataclass(frozen=True)
class ChangeSizes:
    """How far an input is from its reference."""

    changed: int  # values
    euclidean: float
    relative: float  # Euclidean, in lengths of the reference
    largest: float


@dataclass(frozen=True)
class Answer:
    """What one model says of an input."""

    label: int
    confidence: float


# By the name of an array (seed, reference, input, minimised), then by variant; empty where there was no answer.
Answers = Mapping[str, Mapping[str, Answer]]


@dataclass(frozen=True)
class LayerDivergence:
    """How far a twin is from the model in one layer, in units of the layer's scale."""

    layer: str
    twin_layer: str  # what corresponds to it in the twin
    value: float  # infinite where only one of them is finite
    on_seeds: float  # as far as it is on hardly any seed


@dataclass(frozen=True)
class Divergence:
    """Where a twin departs from the model; without layers, it cannot be looked into."""

    twin: str  # what the user calls it
    begins: str | None  # the layer, None where none differs beyond rounding
    beyond_seeds: bool  # the layer departs far more than on the seeds; else the answer lies on an edge
    layers: tuple[LayerDivergence, ...]  # in the order they run


@dataclass(frozen=True)
class Confirmation:
    """How often a finding showed again: alone and in a batch, in a new process unless that could not be."""

    runs: int
    shown: int
    same_process: bool = False  # the model was an object of a script, and ran again where it was

    @property
    def rate(self) -> float:
        """The share of runs that showed it."""
        return self.shown / max(self.runs, 1)


NOT_FINITE, DEPARTS = "not finite", "departs"  # why a layer is named


@dataclass(frozen=True)
class Location:
    """The layer where something begins.

    Of the first watched layer with NaN or infinity, the range of what went into it. Of one that departs from the
    reference's course, how far it is from it (low), and how far a seed typically is from its nearest other one (high).
    """

    layer: str
    why: str  # NOT_FINITE or DEPARTS
    low: float
    high: float

    @property
    def passed_on(self) -> bool:
        """Whether the layer was given NaN or infinity already, by one that is not watched: it made none."""
        return self.why == NOT_FINITE and not (math.isfinite(self.low) and math.isfinite(self.high))


@dataclass(frozen=True)
class FinishedArray:
    """What finishing added to the finding of an array."""

    change: ChangeSizes
    minimised: ChangeSizes | None  # None where it was not minimised
    answers: Answers
    divergence: Divergence | None = None  # of twins that disagree, unless they failed when looked into
    confirmation: Confirmation | None = None  # None where it was not run again
    location: Location | None = None  # None where no layer tells
    steps: tuple[Mutation, ...] | None = None  # what is left of the mutations from the seed on; None if not tried
    cut_off: bool = False  # the time was over before minimising was: what is minimised is smaller, not yet small

    @property
    def small(self) -> bool:
        """Whether it was minimised to the end."""
        return self.minimised is not None and not self.cut_off


@dataclass(frozen=True)
class FinishedGraph:
    """What finishing added to the finding of a graph."""

    reproduced: bool  # its script shows the defect in a process of its own
    operators: tuple[str, ...]  # of the reduced graph


@dataclass(frozen=True)
class LabelChange:
    """The details of a flip."""

    label: int
    taken_for: int


@dataclass(frozen=True)
class GraphDefect:
    """The details of a graph's finding, as far as they are read back."""

    signature: str
    phase: str


@dataclass(frozen=True)
class FindingRecord:
    """What finding.json says; it has `finished` once the budget was spent and the finding worked through."""

    input_type: InputType
    kind: str
    summary: str
    fingerprint: str
    alone: bool  # the input showed it again when it ran alone
    bug: int
    step: int
    execution: int
    seed: str  # the name of the root
    root: int
    parent: int
    mutation: Mutation
    largest_change: float | None  # of any value; None of graphs
    details: Mapping[str, Any]  # as JSON gives them back; a user's property says what it likes
    finished: FinishedArray | FinishedGraph | None = None
    own_label: bool = False  # the label beside it is what the model said of the seed, which had none

    @property
    def identity(self) -> tuple[str, int]:
        """Equal for the same bug."""
        return self.kind, self.bug

    @property
    def of_gradient(self) -> bool:
        """Whether a gradient is not finite, which no forward pass shows."""
        return self.mutation.change is Change.NO_GRADIENT

    @property
    def fatal(self) -> bool:
        """Whether the input ended the model's process."""
        return self.details.get("fatal") is True

    @property
    def label_change(self) -> LabelChange:
        """The labels of a flip; refused where the details do not tell them."""
        try:
            return LabelChange(whole(self.details, "label"), whole(self.details, "taken for"))
        except ValueError as error:
            raise self._unlike(error) from error

    @property
    def graph_defect(self) -> GraphDefect:
        """What a graph shows; refused where the details do not tell it."""
        try:
            return GraphDefect(text(self.details, "signature"), text(self.details, "phase"))
        except ValueError as error:
            raise self._unlike(error) from error

    def _unlike(self, error: ValueError) -> OutputRefused:
        return OutputRefused(f"the details of finding {self.fingerprint} are damaged ({error}): move its folder away")


def encode_record(record: Mapping[str, Any]) -> bytes:
    """The content of finding.json for what `record_as_json` gave."""
    return as_json(with_checksum(dict(record)))


def decode_record(content: bytes) -> FindingRecord:
    """The record in such content; ValueError where it is damaged."""
    return record_from_json(without_checksum(parsed_json(content)))


def record_as_json(record: FindingRecord) -> dict[str, Any]:
    """The record as JSON gives it back."""
    largest = {} if record.largest_change is None else {"largest change": record.largest_change}
    flat = {
        "version": VERSION,
        INPUT_TYPE: str(record.input_type),
        "kind": record.kind,
        "summary": record.summary,
        "fingerprint": record.fingerprint,
        "shown again alone": record.alone,
        "bug": record.bug,
        "step": record.step,
        "execution": record.execution,
        "seed": record.seed,
        "root": record.root,
        "parent": record.parent,
        "mutation": str(record.mutation) or SEED_ITSELF,
        **largest,
        **({OWN_LABEL: True} if record.own_label else {}),
        "details": dict(record.details),
        **_finished_as_json(record.finished),
    }
    content: dict[str, Any] = portable(flat)
    return content


def _finished_as_json(finished: FinishedArray | FinishedGraph | None) -> dict[str, Any]:
    if finished is None:
        return {}
    if isinstance(finished, FinishedGraph):
        return {"reproduced by its script": finished.reproduced, "operators": list(finished.operators)}
    answers = {
        name: {variant: {"label": one.label, "confidence": one.confidence} for variant, one in by_variant.items()}
        for name, by_variant in finished.answers.items()
    }
    minimised = {} if finished.minimised is None else {"minimised": sizes_as_json(finished.minimised)}
    divergence = {} if finished.divergence is None else {"divergence": _divergence_as_json(finished.divergence)}
    steps = {} if finished.steps is None else {"steps": [str(step) for step in finished.steps]}
    return {
        "change": sizes_as_json(finished.change),
        **minimised,
        **({CUT_OFF: True} if finished.cut_off else {}),
        **steps,
        "answers": answers,
        **_confirmation_as_json(finished.confirmation),
        **_location_as_json(finished.location),
        **divergence,
    }


def _confirmation_as_json(confirmation: Confirmation | None) -> dict[str, Any]:
    if confirmation is None:
        return {}
    same = {SAME_PROCESS: True} if confirmation.same_process else {}
    return {"confirmation": {"runs": confirmation.runs, "shown": confirmation.shown, **same}}


def _location_as_json(location: Location | None) -> dict[str, Any]:
    if location is None:
        return {}
    return {"location": {"layer": location.layer, "why": location.why, "low": location.low, "high": location.high}}


def _divergence_as_json(divergence: Divergence) -> dict[str, Any]:
    begins = {} if divergence.begins is None else {"begins in": divergence.begins}
    layers = [
        {
            "layer": one.layer,
            "layer of the twin": one.twin_layer,
            "divergence": one.value,
            "on the seeds": one.on_seeds,
        }
        for one in divergence.layers
    ]
    return {"twin": divergence.twin, **begins, "beyond the seeds": divergence.beyond_seeds, "layers": layers}


def sizes_as_json(sizes: ChangeSizes) -> dict[str, Any]:
    """The sizes by the names of the measures."""
    return {"L0": sizes.changed, "L2": sizes.euclidean, "relative L2": sizes.relative, "L∞": sizes.largest}


def record_from_json(content: Any) -> FindingRecord:
    """The inverse of `record_as_json`; ValueError where a field is missing or of another type."""
    record = json_object(content)
    if record.get("version") != VERSION:
        raise ValueError(f"it is of version {record.get('version')}, this Jostle reads {VERSION}")
    input_type = input_type_in(record)
    return FindingRecord(
        input_type=input_type,
        kind=text(record, "kind"),
        summary=text(record, "summary"),
        fingerprint=text(record, "fingerprint"),
        alone=flag(record, "shown again alone"),
        bug=whole(record, "bug"),
        step=whole(record, "step"),
        execution=whole(record, "execution"),
        seed=text(record, "seed"),
        root=whole(record, "root"),
        parent=whole(record, "parent"),
        mutation=_mutation(text(record, "mutation")),
        largest_change=number(record, "largest change") if "largest change" in record else None,
        details=fields(record, "details"),
        finished=_finished_graph(record) if input_type is InputType.GRAPH else _finished_array(record),
        own_label=flag(record, OWN_LABEL) if OWN_LABEL in record else False,
    )


def _mutation(content: str) -> Mutation:
    return SEED if content == SEED_ITSELF else Mutation.parsed(content)


def input_type_in(record: Mapping[str, Any]) -> InputType:
    """The type of input that a record names."""
    name = text(record, INPUT_TYPE)
    if name not in list(InputType):
        raise ValueError(f"{INPUT_TYPE} is neither array nor graph")
    return InputType(name)


def _finished_array(record: Mapping[str, Any]) -> FinishedArray | None:
    if "change" not in record:
        return None
    minimised = _sizes(fields(record, "minimised")) if "minimised" in record else None
    by_name = fields(record, "answers")
    answers = {name: _answers(fields(by_name, name)) for name in by_name}
    divergence = _divergence(fields(record, "divergence")) if "divergence" in record else None
    return FinishedArray(
        _sizes(fields(record, "change")),
        minimised,
        answers,
        divergence,
        _confirmation(fields(record, "confirmation")) if "confirmation" in record else None,
        _location(fields(record, "location")) if "location" in record else None,
        tuple(map(Mutation.parsed, texts(record, "steps"))) if "steps" in record else None,
        flag(record, CUT_OFF) if CUT_OFF in record else False,
    )


def _confirmation(content: Mapping[str, Any]) -> Confirmation:
    runs, shown = whole(content, "runs"), whole(content, "shown")
    if not 0 <= shown <= runs or not runs:
        raise ValueError(f"it showed in {shown} of {runs} runs")
    return Confirmation(runs, shown, flag(content, SAME_PROCESS) if SAME_PROCESS in content else False)


def _location(content: Mapping[str, Any]) -> Location:
    why = text(content, "why")
    if why not in (NOT_FINITE, DEPARTS):
        raise ValueError(f"why is neither {NOT_FINITE} nor {DEPARTS}")
    return Location(text(content, "layer"), why, number(content, "low"), number(content, "high"))


def _divergence(content: Mapping[str, Any]) -> Divergence:
    layers = tuple(
        LayerDivergence(
            text(one, "layer"), text(one, "layer of the twin"), number(one, "divergence"), number(one, "on the seeds")
        )
        for one in records(content, "layers")
    )
    begins = text(content, "begins in") if "begins in" in content else None
    return Divergence(text(content, "twin"), begins, flag(content, "beyond the seeds"), layers)


def _answers(by_variant: Mapping[str, Any]) -> dict[str, Answer]:
    answers = {variant: fields(by_variant, variant) for variant in by_variant}
    return {variant: Answer(whole(one, "label"), number(one, "confidence")) for variant, one in answers.items()}


def _finished_graph(record: Mapping[str, Any]) -> FinishedGraph | None:
    if "reproduced by its script" not in record:
        return None
    return FinishedGraph(flag(record, "reproduced by its script"), texts(record, "operators"))


def _sizes(sizes: Mapping[str, Any]) -> ChangeSizes:
    return ChangeSizes(whole(sizes, "L0"), number(sizes, "L2"), number(sizes, "relative L2"), number(sizes, "L∞"))
