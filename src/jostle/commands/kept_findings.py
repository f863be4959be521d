"""Findings as their folders keep them, with all that running them again needs."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from jostle.errors import OutputRefused, UsageError
from jostle.session.reopen import Reopened, recorded_campaign
from jostle.storage.campaign_record import CONFIG, COPY
from jostle.storage.finding_record import RECORD, FindingRecord
from jostle.storage.findings import (
    FINDINGS,
    SavedFinding,
    SavedRoot,
    finding_folders,
    read_finding,
    read_record,
    read_root,
)
from jostle.task import Task

MOST_SEEDS = 10_000_000  # of a campaign; a record that tells of more is damaged


@dataclass(frozen=True)
class KeptFinding:
    """A finding with all that its folder holds, and its campaign."""

    finding: SavedFinding
    root: SavedRoot
    campaign: Reopened

    @property
    def alike(self) -> str:
        """Equal for findings that one model can be loaded for."""
        return f"{self.campaign.record.as_json()} {tuple(self.finding.input.shape)} {self.finding.input.dtype}"


def findings_in(place: Path) -> list[Path]:
    """The folders of findings that a place stands for; of a place that holds none, itself."""
    if (place / FINDINGS).is_dir():
        return finding_folders(place / FINDINGS)
    several = [folder for folder in finding_folders(place) if (folder / RECORD).exists()]
    return [place] if (place / RECORD).exists() or not several else several


def record_in(folder: Path) -> FindingRecord:
    try:
        return read_record(folder)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{folder} holds no finding ({reason}): {_nearest(folder)}give one of the folders under CAMPAIGN/findings, "
            f"or the campaign's"
        ) from error


def _nearest(folder: Path) -> str:
    """The finding beside it whose name is most like this one, as a question."""
    beside = [place.name for place in finding_folders(folder.parent)]
    near = difflib.get_close_matches(folder.name, beside, n=1)
    return f"did you mean {near[0]}? Else " if near and not folder.exists() else ""


def kept_finding(folder: Path, record: FindingRecord) -> KeptFinding:
    """A finding with the record of its campaign, of which findings of older versions have no copy."""
    own = (folder / COPY).exists()
    campaign = recorded_campaign(folder if own else folder.parent.parent, COPY if own else CONFIG)
    finding = read_finding(folder, record)
    root = read_root(finding)
    if not 0 <= record.root < MOST_SEEDS or campaign.record.origin.task not in list(Task):
        raise OutputRefused(f"{folder} tells of a seed or a task that cannot be: move the folder away")
    return KeptFinding(finding, root, campaign)
