"""A campaign's findings made to defects: grouped, ranked, explained, each with a folder to hand on.

Nothing of the folder is executed: no model is loaded, and no code of the user's is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jostle.errors import OutputRefused
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.class_names import ClassNames, campaign_class_names, read_class_names, unnamed_classes
from jostle.storage.defect_record import Defect
from jostle.storage.defects import DEFECTS, defect_as_json, read_defects, write_defects
from jostle.storage.failing_tests import FailingCounts, count_failing
from jostle.storage.files import refuse_link
from jostle.storage.overview import is_at_work
from jostle.triage.causes import fewest_classes
from jostle.triage.defect_folder import ShownDefect, remove_files
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import TriagedFinding, gather
from jostle.triage.words import Words


@dataclass(frozen=True)
class Triaged:
    """What triage made of a campaign."""

    folder: Path
    defects: list[Defect]  # ranked
    findings: int
    unfinished: int  # findings that nobody minimised or asked the model about yet
    unreadable: int  # findings that were left out
    at_work: bool  # the campaign is running, so nothing was written
    warnings: tuple[str, ...] = ()  # about what the user gave
    failing: FailingCounts = field(default_factory=FailingCounts)  # all inputs that violate a property

    def as_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "findings": self.findings,
            "unfinished": self.unfinished,
            "unreadable": self.unreadable,
            "running": self.at_work,
            "failing_tests": self.failing.met,
            "failing_tests_kept": self.failing.kept,
            "failing_tests_unreadable": self.failing.unreadable,
            "warnings": list(self.warnings),
            "defects": [defect_as_json(defect) for defect in self.defects],
        }


@dataclass(frozen=True)
class _Examined:
    """What triage made of a campaign, and of what it made it."""

    campaign: CampaignRecord
    findings: list[TriagedFinding]
    names: ClassNames
    renamed: bool  # classes are called otherwise than in the campaign's folder
    result: Triaged


def triage(folder: Path, classes: Path | None = None) -> Triaged:
    """Groups and ranks the findings of a campaign, and writes defects.json and a folder for each defect.

    Of a campaign that is running nothing is written, because the folder is its own.
    """
    examined = _examined(folder, classes)
    if not examined.result.at_work:
        _write(examined)
    return examined.result


def triaged(folder: Path, classes: Path | None = None) -> Triaged:
    """The same, and nothing is written."""
    return _examined(folder, classes).result


def _examined(folder: Path, classes: Path | None) -> _Examined:
    campaign = campaign_in(folder)
    gathered = gather(folder, campaign)
    kept = campaign_class_names(folder)
    names = kept if classes is None else read_class_names(classes)
    failing = count_failing(folder)
    defects = _with_failing(defects_of(gathered.findings, Words(names)), gathered.findings, failing)
    unfinished = sum(finding.record.finished is None for finding in gathered.findings)
    found, at_work = len(gathered.findings), is_at_work(folder)
    warnings = () if classes is None else tuple(_unnamed(classes, names, gathered.findings))
    result = Triaged(folder, defects, found, unfinished, gathered.unreadable, at_work, warnings, failing)
    return _Examined(campaign, gathered.findings, names, names != kept, result)


def _with_failing(
    defects: Sequence[Defect], findings: Sequence[TriagedFinding], failing: FailingCounts
) -> list[Defect]:
    """The same, each with how many of the failing tests that were kept show a bug of its findings."""
    if not failing.kept:
        return list(defects)
    tests = {finding.name: failing.by_bug.get(finding.record.identity, 0) for finding in findings}
    return [replace(defect, failing_tests=sum(tests[name] for name in defect.findings)) for defect in defects]


def _unnamed(path: Path, names: ClassNames, findings: Sequence[TriagedFinding]) -> Iterator[str]:
    return unnamed_classes(path, names, max((fewest_classes(one.record) for one in findings), default=0))


def _write(examined: _Examined) -> None:
    folder, defects = examined.result.folder, examined.result.defects
    gone = _earlier(folder) - {defect.name for defect in defects}
    _check_places(folder, [*(defect.name for defect in defects), *gone])
    for name in sorted(gone):
        remove_files(folder / DEFECTS / name)
    write_defects(folder, defects)
    findings = {finding.name: finding for finding in examined.findings}
    for defect in defects:
        all_of_it = tuple(findings[name] for name in defect.findings)
        shown = ShownDefect(defect, all_of_it[0], examined.campaign, all_of_it, examined.names, examined.renamed)
        shown.write(folder / DEFECTS / defect.name)


def _check_places(folder: Path, names: Iterable[str]) -> None:
    """Refuses links and files in place of the folders of defects."""
    for place in (folder / DEFECTS, *(folder / DEFECTS / name for name in sorted(names))):
        refuse_link(place)
        if place.exists() and not place.is_dir():
            raise OutputRefused(f"{place} is no folder, and the folder of a defect goes there: move it away")


def _earlier(folder: Path) -> set[str]:
    """The names of defects that were written before; none where their list is damaged, and they stay."""
    try:
        return {defect.name for defect in read_defects(folder)}
    except OutputRefused:
        return set()
