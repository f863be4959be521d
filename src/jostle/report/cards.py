"""A defect as a card: the finding that shows it best, with all that explains it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from jostle.inputs.audio import INPUT as INPUT_WAVE
from jostle.inputs.audio import SEED as SEED_WAVE
from jostle.records import TWIN
from jostle.report.contents import (
    DefectCard,
    LayerFigures,
    LayerPlace,
    Picture,
    Said,
    ShownArray,
    ShownFinding,
    Sound,
    Stage,
    TwinFigures,
    Value,
)
from jostle.report.found import Found, content_in
from jostle.report.illustrations import LARGEST_SIDE, THUMBNAIL, drawn_alone, drawn_finding
from jostle.report.input_form import InputForms
from jostle.report.readable_changes import readable_changes
from jostle.report.sheets import Sheets, shrunk
from jostle.storage.ancestry import Ancestry
from jostle.storage.defect_record import Defect
from jostle.storage.defects import DEFECTS
from jostle.storage.divergence_plots import MOST_LAYERS
from jostle.storage.drawn_arrays import drawable, reference_name
from jostle.storage.finding_record import NOT_FINITE, Divergence, FindingRecord, FinishedArray, InputType
from jostle.storage.findings import FINDINGS, MINIMISED, SCRIPT
from jostle.storage.step_words import step_words
from jostle.triage.causes import label_pair
from jostle.triage.model_traceback import model_traceback
from jostle.triage.words import NOT_WATCHED, Words

MOST_PIXELS = 6_000_000  # of pictures in all cards; cards beyond have their thumbnail
MOST_DETAILED = 2_000  # cards with words and scripts
MOST_STAGES = 16
STAGE_SIDE = 64  # pixels
MOST_SOUND = 6_000_000  # bytes in all cards
LARGEST_SOUND = 600_000  # bytes


@dataclass
class CardMaker:
    """Makes the cards of one campaign; pictures go into the sheets as long as there is room."""

    folder: Path
    forms: InputForms
    words: Words
    twin: str  # what the only twin is called, "" where there are several or none
    ancestry: Ancestry
    sheets: Sheets
    _sounds: int = 0  # bytes so far

    def finding(self, found: Found) -> ShownFinding:
        """One of many, with a thumbnail."""
        record = found.record
        right, said = self._labels(record)
        return ShownFinding(
            name=found.folder.name,
            kind=record.kind,
            summary=record.summary,
            seed=record.seed,
            mutation=found.mutation,
            label=right,
            said=said,
            confidence=_rounded(found.confidence),
            thumbnail=self._thumbnail(found),
        )

    def _labels(self, record: FindingRecord) -> tuple[str, str]:
        """What is right and what was said; of a framework, the operator and who computes it wrongly."""
        if record.input_type is InputType.GRAPH:
            return _text(record.details, "operator"), _text(record.details, "backend")
        labels = label_pair(record)
        return (self.words.label(labels[0]), self.words.label(labels[1])) if labels else ("", "")

    def card(self, defect: Defect, best: Found, findings: tuple[int, ...], number: int) -> DefectCard:
        """The card of a defect, the so-and-so-manieth; `best` is the finding that shows it best."""
        plain = DefectCard(
            name=defect.name,
            title=defect.title,
            kind=defect.cause.kind,
            what=defect.cause.what,
            mutation=defect.cause.mutation,
            layer=defect.cause.layer,
            seeds=defect.seeds,
            weight=round(defect.weight, 3),
            reasons={name: round(value, 3) for name, value in defect.reasons.items()},
            explanation=(best.record.summary,) if best.record.input_type is InputType.GRAPH else defect.explanation,
            unstable=defect.unstable,
            findings=findings,
        )
        return plain if number >= MOST_DETAILED else self._detailed(plain, best)

    def _detailed(self, card: DefectCard, best: Found) -> DefectCard:
        record, finished = best.record, best.record.finished
        of_array = finished if isinstance(finished, FinishedArray) else None
        arrays = {} if record.input_type is InputType.GRAPH else best.arrays()
        script, path = self._script(card.name, best)
        shown = MINIMISED if MINIMISED in arrays else "input"
        return replace(
            card,
            panels=tuple(self._panels(best, arrays)),
            changes=tuple(readable_changes(arrays[shown], arrays[reference_name(arrays, shown)], self.forms))
            if arrays
            else (),
            sounds=tuple(self._playable(best)) if self.forms.sound else (),
            stages=tuple(self._stages(best, arrays)),
            divergence=_divergence(of_array.divergence if of_array else None),
            begins=_begins(of_array),
            confirmed=_confirmed(of_array),
            script=script,
            script_path=path,
            numbers=tuple(_numbers(record.details)),
            traceback=model_traceback(_text(record.details, "traceback")),
        )

    def _panels(self, best: Found, arrays: Mapping[str, Tensor]) -> list[ShownArray]:
        if not arrays:
            return []
        seen = {name: self.forms.seen(array) for name, array in arrays.items()}
        if not drawable(seen["input"], self.forms.sound):
            said = {
                "seed": self._said(best, "seed"),
                "mutant": self._said(best, "input"),
            }
            return [ShownArray(caption, None, answers) for caption, answers in said.items() if answers]
        room = self.sheets.pixels < MOST_PIXELS
        return [
            ShownArray(
                one.caption,
                self.sheets.add(shrunk(one.pixels, _side(self.forms))) if room else None,
                self._said(best, one.name) if one.name else (),
            )
            for one in drawn_finding(seen, self.forms.sound)
        ]

    def _said(self, best: Found, name: str) -> tuple[Said, ...]:
        """What each model says of one of the arrays of a finding."""
        right = best.right
        return tuple(
            Said(
                by=self.twin if by == TWIN and self.twin else by,
                label=self.words.label(one.label),
                confidence=one.confidence,
                right=None if right is None else one.label == right,
            )
            for by, one in best.answers.get(name, {}).items()
        )

    def _stages(self, best: Found, arrays: Mapping[str, Tensor]) -> list[Stage]:
        """The way from the seed; pictures where every step has an array."""
        if not arrays:
            return []
        steps = [step_words(one) for one in self.ancestry.steps(best.record)]
        way = self.ancestry.inputs(best.record)
        if not steps:
            return []
        complete = len(way) == len(steps) and len(steps) <= MOST_STAGES
        along = [*way, arrays["input"]] if complete else [None] * (len(steps) + 1)
        words = ["seed", *steps]
        stages = [Stage(text, self._stage(array)) for text, array in zip(words, along, strict=True)]
        return stages if len(stages) <= MOST_STAGES + 1 else [*stages[: MOST_STAGES // 2], *stages[-MOST_STAGES // 2 :]]

    def _stage(self, whole: Tensor | None) -> Picture | None:
        array = None if whole is None else self.forms.seen(whole)
        if array is None or not drawable(array, self.forms.sound) or self.sheets.pixels >= MOST_PIXELS:
            return None
        return self.sheets.add(shrunk(drawn_alone(array, self.forms.sound), STAGE_SIDE))

    def _thumbnail(self, found: Found) -> Picture | None:
        whole = None if found.record.input_type is InputType.GRAPH else found.input()
        array = None if whole is None else self.forms.seen(whole)
        if array is None or not drawable(array, self.forms.sound):
            return None
        return self.sheets.add(shrunk(drawn_alone(array, self.forms.sound), THUMBNAIL), small=True)

    def _script(self, name: str, best: Found) -> tuple[str, str]:
        """The script that shows a defect, and where it lies; that of its best finding where it has none of its own."""
        for path in (f"{DEFECTS}/{name}/{SCRIPT}", f"{FINDINGS}/{best.folder.name}/{SCRIPT}"):
            content = content_in(self.folder, path)
            if content:
                return content.decode("utf-8", "replace"), path
        return "", ""

    def _playable(self, best: Found) -> list[Sound]:
        sounds: list[Sound] = []
        for caption, file in (("seed", SEED_WAVE), ("mutant", INPUT_WAVE)):
            content = content_in(self.folder, f"{FINDINGS}/{best.folder.name}/{file}", LARGEST_SOUND)
            if content and self._sounds + len(content) <= MOST_SOUND:
                self._sounds += len(content)
                sounds.append(Sound(caption, f"data:audio/wav;base64,{base64.b64encode(content).decode()}"))
        return sounds


def _side(forms: InputForms) -> int:
    return 280 if forms.sound else LARGEST_SIDE


def _divergence(divergence: Divergence | None) -> TwinFigures | None:
    """One finding beside what the seeds show; None of a twin that cannot be looked into."""
    if divergence is None or not divergence.layers:
        return None
    begins = divergence.begins
    far = "far beyond what the seeds show" if divergence.beyond_seeds else "hardly further than on the seeds"
    told = "no layer differs beyond rounding" if begins is None else f"begins in {begins}, {far}"
    layers = tuple(
        LayerFigures(one.layer, one.on_seeds, one.value, one.value, one.value, int(one.layer == begins))
        for one in divergence.layers[:MOST_LAYERS]
    )
    return TwinFigures(divergence.twin, told, layers)


def _begins(finished: FinishedArray | None) -> LayerPlace | None:
    """Where NaN or infinity is first seen, and what went in; None of findings of which no layer is known to."""
    location = finished.location if finished else None
    if finished is None or location is None or location.why != NOT_FINITE:
        return None
    names = tuple(one.layer for one in finished.divergence.layers) if finished.divergence else ()
    layers = names[:MOST_LAYERS] if location.layer in names[:MOST_LAYERS] else (location.layer,)
    between = f"What went into it lay between {location.low:.4g} and {location.high:.4g}."
    went_in = f"It was given NaN or infinity already{NOT_WATCHED}." if location.passed_on else between
    told = f"{location.layer} is the first layer with NaN or infinity in what it gives. {went_in}"
    return LayerPlace(told, layers, layers.index(location.layer))


def _confirmed(finished: FinishedArray | None) -> str:
    if finished is None or finished.confirmation is None:
        return ""
    again = finished.confirmation
    where = "the same process" if again.same_process else "a new process"
    return f"showed again in {again.shown} of {again.runs} runs in {where}"


def _numbers(details: Mapping[str, object]) -> list[Value]:
    """What a framework gives beside what is right."""
    seen, expected = _text(details, "seen"), _text(details, "expected")
    if not seen and not expected:
        return []
    return [Value(_text(details, "tensor") or "result", expected, seen)]


def _text(details: Mapping[str, object], name: str) -> str:
    value = details.get(name)
    return value if isinstance(value, str) else ""


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
