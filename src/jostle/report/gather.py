"""All that a page shows of a campaign, read from its folder; nothing of it is executed, and it may be running."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.errors import OutputRefused
from jostle.held import shown_name
from jostle.report.cards import CardMaker
from jostle.report.contents import Contents, DefectCard, Fact, LayerFigures, TwinFigures
from jostle.report.curves import coverage_curves, growth_curves
from jostle.report.found import Found, all_found, content_in
from jostle.report.input_form import read_forms
from jostle.report.sentences import Workload, duration, found_sentence, joined, workload_sentence
from jostle.report.sheets import Sheets
from jostle.report.yields import yields
from jostle.step_records import COUNTED_INPUTS
from jostle.storage.ancestry import Ancestry
from jostle.storage.beginnings import Beginnings, beginnings, divergences
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.class_names import ClassNames
from jostle.storage.coverage_history import read_coverage
from jostle.storage.defect_record import Defect
from jostle.storage.defects import DEFECTS_FILE, read_defects
from jostle.storage.divergence_plots import BAND, MOST_LAYERS
from jostle.storage.environment import ENVIRONMENT
from jostle.storage.finding_record import RECORD, FindingRecord, InputType
from jostle.storage.findings import FLAKY, finding_folders
from jostle.storage.journal import JOURNAL, Journal, read_journal
from jostle.storage.overview import is_at_work
from jostle.storage.status import Statistics, read_status
from jostle.triage.causes import fewest_classes
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import gather as triaged
from jostle.triage.words import Words, counted
from jostle.untrusted.json_text import parsed_json


def gather(folder: Path, record: CampaignRecord, classes: ClassNames, renamed: bool = False) -> Contents:
    """What the campaign in this folder tells, whose record this is; triage knew other names of renamed classes."""
    found, unreadable = all_found(folder)
    known = [] if renamed else _known_defects(folder, found)
    defects = known or defects_of(triaged(folder, record).findings, Words(classes))
    return _Gathering(folder, record, Words(classes), found, unreadable, defects).contents()


@dataclass(frozen=True)
class _Gathering:
    """What was read of a campaign, to be put together."""

    folder: Path
    record: CampaignRecord
    words: Words
    found: Sequence[Found]
    unreadable: int  # findings
    defects: Sequence[Defect]

    def contents(self) -> Contents:
        folder, record, records = self.folder, self.record, [one.record for one in self.found]
        journal, status, sheets = read_journal(folder / JOURNAL), read_status(folder), Sheets()
        maker, tested = self._maker(sheets), workload_of(record, journal, status)
        return Contents(
            title=tested.subject,
            sentences=(workload_sentence(tested), found_sentence(self.defects, len(self.found))),
            figures=tuple(_figures(self.defects, self.found, tested, status)),
            of_graphs=tested.of_graphs,
            defects=tuple(_cards(maker, self.defects, self.found)),
            findings=tuple(maker.finding(one) for one in self.found),
            classes=max(map(fewest_classes, records), default=0),
            curves=tuple(coverage_curves(read_coverage(folder))),
            growth=tuple(growth_curves(journal.lines)),
            yields=() if tested.of_graphs else tuple(yields(folder, journal.lines, records)),
            twins=tuple(_all_twins(records)),
            command=record.origin.command,
            replay=shlex.join(record.replay_call(folder)),
            settings=tuple(_facts(record.all_settings)),
            environment=tuple(_environment(folder, record)),
            notes=tuple(_notes(folder, self.unreadable)),
            at_work=is_at_work(folder),
            sheets=sheets.encoded(),
        )

    def _maker(self, sheets: Sheets) -> CardMaker:
        forms = read_forms(self.folder, self.record.origin.layout)
        return CardMaker(self.folder, forms, self.words, _only_twin(self.record), Ancestry.of(self.folder), sheets)


def workload_of(record: CampaignRecord, journal: Journal, status: Statistics) -> Workload:
    """What a campaign was run on, and how much."""
    of_graphs = record.input_type is InputType.GRAPH
    return Workload(_subject(record), _seeds(journal), _executions(journal), status.seconds, of_graphs)


def _all_twins(records: Sequence[FindingRecord]) -> Iterator[TwinFigures]:
    """Of each twin that can be looked into."""
    for some in beginnings(divergences(records)):
        if any(one.layers for one in some.divergences):
            yield _twin(some)


def _known_defects(folder: Path, found: Sequence[Found]) -> list[Defect]:
    """As triage left them; none where it did not see all of these findings as they are now."""
    try:
        known, written = read_defects(folder), _time_of(folder / DEFECTS_FILE)
    except OutputRefused:
        return []
    same = {name for one in known for name in one.findings} == {one.folder.name for one in found}
    return known if same and all(_time_of(one.folder / RECORD) <= written for one in found) else []


def _time_of(path: Path) -> int:
    """When a file was written, in nanoseconds; 0 of one that went away."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _cards(maker: CardMaker, defects: Sequence[Defect], found: Sequence[Found]) -> list[DefectCard]:
    places = {one.folder.name: place for place, one in enumerate(found)}
    cards: list[DefectCard] = []
    for number, defect in enumerate(defects):
        there = tuple(places[name] for name in defect.findings if name in places)
        if there:  # a running campaign may have found more since
            cards.append(maker.card(defect, found[there[0]], there, number))
    return cards


def _subject(record: CampaignRecord) -> str:
    """What was tested, in words."""
    settings = record.all_settings
    if record.input_type is InputType.GRAPH:
        return joined([str(one) for one in settings.get("backends") or ["frameworks"]])
    twins = _twins(record)
    others = [_called(one) for one in settings.get("models") or ()]
    model = _called(settings.get("model", "a model"))
    beside = f" beside {joined(others)}" if others else ""
    compared = f" with its {'twin' if len(twins) == 1 else 'twins'} {joined(twins)}" if twins else ""
    return f"{model}{compared}{beside}"


def _twins(record: CampaignRecord) -> list[str]:
    named = record.all_settings.get("twin")
    return [_called(one) for one in named] if isinstance(named, list) else []


def _called(model: object) -> str:
    """What a person calls a model that settings name: its file without folders, or what an object is."""
    return Path(shown_name(str(model))).name


def _only_twin(record: CampaignRecord) -> str:
    twins = _twins(record)
    return twins[0] if len(twins) == 1 else ""


def _seeds(journal: Journal) -> int:
    return journal.lines[0].planned if journal.lines else 0


def _executions(journal: Journal) -> int:
    return journal.lines[-1].executions if journal.lines else 0


def _figures(defects: Sequence[Defect], found: Sequence[Found], tested: Workload, status: Statistics) -> list[Fact]:
    figures = [
        Fact("distinct defects", f"{len(defects):,}"),
        Fact("findings", f"{len(found):,}"),
        Fact("models run" if tested.of_graphs else "inputs run", f"{tested.executions:,}"),
    ]
    if status.seconds is not None:
        figures.append(Fact("time", duration(status.seconds)))
    for name, values in (status.coverage or {}).items():
        covered = values.get("covered")
        if covered is not None and 0 <= covered <= 1:
            inputs = f" by {COUNTED_INPUTS[status.counted]}" if status.counted else ""
            figures.append(Fact(f"{name} covered{inputs}", f"{covered:.1%}"))
    return figures


def _twin(some: Beginnings) -> TwinFigures:
    """All findings of one twin together."""
    by_layer: dict[str, list[tuple[float, float]]] = {}
    for divergence in some.divergences:
        for one in divergence.layers:
            by_layer.setdefault(one.layer, []).append((one.value, one.on_seeds))
    layers: list[LayerFigures] = []
    for layer, seen in list(by_layer.items())[:MOST_LAYERS]:
        values = sorted(value for value, _ in seen)
        low, middle, high = (values[round(share * (len(values) - 1))] for share in BAND)
        layers.append(LayerFigures(layer, seen[0][1], low, middle, high, some.layers[layer]))
    return TwinFigures(some.name, str(some), tuple(layers))


def _facts(content: Mapping[str, Any]) -> list[Fact]:
    """Those that say something, as a seed of 0 does."""
    told = {name: value for name, value in content.items() if value is not False and value not in (None, [], "")}
    return [Fact(name, _worded(value)) for name, value in told.items()]


def _worded(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_worded, value))
    return "yes" if value is True else f"{value:g}" if isinstance(value, float) else shown_name(str(value))


def _environment(folder: Path, record: CampaignRecord) -> list[Fact]:
    try:
        content = parsed_json(content_in(folder, ENVIRONMENT))
    except ValueError:
        content = {}
    known = content if isinstance(content, dict) else {}
    memory = known.get("memory")
    if isinstance(memory, int):
        known = {**known, "memory": f"{memory / 1e9:.0f} GB"}
    facts = _facts(known)
    for backend, versions in record.versions.items():
        facts.append(Fact(backend, ", ".join(f"{name} {version}" for name, version in versions.items())))
    if record.origin.folder:
        facts.append(Fact("working folder", record.origin.folder))
    return facts


def _notes(folder: Path, unreadable: int) -> list[str]:
    notes: list[str] = []
    flaky = len(finding_folders(folder / FLAKY))
    if flaky:
        notes.append(f"{counted(flaky, 'more finding')} showed in a batch, but not alone: see {FLAKY}/ in the folder.")
    if unreadable:
        notes.append(f"{counted(unreadable, 'finding')} left out: damaged, or not yet complete.")
    return notes
