"""A campaign's findings made to defects: grouped, ranked, explained, each with a folder to hand on.

Nothing of the folder is executed: no model is loaded, and no code of the user's is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.errors import OutputRefused
from jostle.storage.campaign_record import CampaignRecord, read_campaign
from jostle.storage.defects import DEFECTS, defect_as_json, read_defects, write_defects
from jostle.storage.files import remove
from jostle.storage.findings import FINDINGS
from jostle.storage.overview import is_at_work
from jostle.triage.class_names import ClassNames, read_class_names
from jostle.triage.defect import Defect
from jostle.triage.defect_folder import write_defect_folder
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import gather
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

    def as_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "findings": self.findings,
            "unfinished": self.unfinished,
            "unreadable": self.unreadable,
            "running": self.at_work,
            "defects": [defect_as_json(defect) for defect in self.defects],
        }


def triage(folder: Path, classes: Path | None = None) -> Triaged:
    """Groups and ranks the findings of a campaign, and writes defects.json and a folder for each defect.

    Of a campaign that is running nothing is written, because the folder is its own.
    """
    campaign = _campaign(folder)
    gathered = gather(folder, campaign)
    words = Words(class_names(campaign, classes))
    defects = defects_of(gathered.findings, words)
    at_work = is_at_work(folder)
    if not at_work:
        _write(folder, defects, campaign)
    unfinished = sum(finding.record.finished is None for finding in gathered.findings)
    return Triaged(folder, defects, len(gathered.findings), unfinished, gathered.unreadable, at_work)


def class_names(campaign: CampaignRecord, given: Path | None) -> ClassNames:
    """The names of classes from this file, or from the one that the campaign was run with, if it is still there."""
    if given is not None:
        return read_class_names(given)
    recorded = campaign.all_settings.get("classes")
    path = Path(campaign.origin.folder) / recorded if isinstance(recorded, str) else None
    return read_class_names(path) if path is not None and path.is_file() else {}


def _campaign(folder: Path) -> CampaignRecord:
    try:
        return read_campaign(folder)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputRefused(
            f"{folder} holds no campaign: give the folder that jostle fuzz or jostle frameworks wrote to ({reason})"
        ) from error


def _write(folder: Path, defects: list[Defect], campaign: CampaignRecord) -> None:
    """The list, and the folders; those that an earlier list names and this one does not are removed."""
    for name in sorted(_earlier(folder) - {defect.name for defect in defects}):
        if (folder / DEFECTS / name).is_dir():
            remove(folder / DEFECTS / name)
    write_defects(folder, defects)
    for defect in defects:
        write_defect_folder(folder / DEFECTS / defect.name, folder / FINDINGS / defect.findings[0], defect, campaign)


def _earlier(folder: Path) -> set[str]:
    """The names of defects that were written before; none where their list is damaged, and they stay."""
    try:
        return {defect.name for defect in read_defects(folder)}
    except OutputRefused:
        return set()
