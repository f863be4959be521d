"""A campaign's findings made to defects: grouped, ranked, explained, each with a folder to hand on.

Nothing of the folder is executed: no model is loaded, and no code of the user's is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.errors import OutputRefused
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.class_names import ClassNames, campaign_class_names, read_class_names, unnamed_classes
from jostle.storage.defect_record import Defect
from jostle.storage.defects import DEFECTS, defect_as_json, read_defects, write_defects
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

    def as_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "findings": self.findings,
            "unfinished": self.unfinished,
            "unreadable": self.unreadable,
            "running": self.at_work,
            "warnings": list(self.warnings),
            "defects": [defect_as_json(defect) for defect in self.defects],
        }


def triage(folder: Path, classes: Path | None = None) -> Triaged:
    """Groups and ranks the findings of a campaign, and writes defects.json and a folder for each defect.

    Of a campaign that is running nothing is written, because the folder is its own.
    """
    campaign = campaign_in(folder)
    gathered = gather(folder, campaign)
    kept = campaign_class_names(folder)
    names = kept if classes is None else read_class_names(classes)
    defects = defects_of(gathered.findings, Words(names))
    at_work = is_at_work(folder)
    if not at_work:
        gone = _earlier(folder) - {defect.name for defect in defects}
        _check_places(folder, [*(defect.name for defect in defects), *gone])
        for name in sorted(gone):
            remove_files(folder / DEFECTS / name)
        write_defects(folder, defects)
        renamed = names != kept
        findings = {finding.name: finding for finding in gathered.findings}
        for defect in defects:
            shown = ShownDefect(defect, findings[defect.findings[0]], campaign, names, renamed)
            shown.write(folder / DEFECTS / defect.name)
    unfinished = sum(finding.record.finished is None for finding in gathered.findings)
    warnings = () if classes is None else tuple(_unnamed(classes, names, gathered.findings))
    return Triaged(folder, defects, len(gathered.findings), unfinished, gathered.unreadable, at_work, warnings)


def _unnamed(path: Path, names: ClassNames, findings: Sequence[TriagedFinding]) -> Iterator[str]:
    return unnamed_classes(path, names, max((fewest_classes(one.record) for one in findings), default=0))


def _check_places(folder: Path, names: Iterable[str]) -> None:
    """Refuses links in place of the folders of defects: whoever made them chose what is removed behind them."""
    for place in (folder / DEFECTS, *(folder / DEFECTS / name for name in sorted(names))):
        if place.is_symlink():
            raise OutputRefused(f"{place} is a link, behind which nothing is written or removed: remove the link")
        if place.exists() and not place.is_dir():
            raise OutputRefused(f"{place} is no folder, and the folder of a defect goes there: move it away")


def _earlier(folder: Path) -> set[str]:
    """The names of defects that were written before; none where their list is damaged, and they stay."""
    try:
        return {defect.name for defect in read_defects(folder)}
    except OutputRefused:
        return set()
