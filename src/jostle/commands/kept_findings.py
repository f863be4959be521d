"""Findings as their folders keep them, with all that running them again needs."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

from jostle.errors import OutputRefused, UsageError
from jostle.options.choices import nearest
from jostle.session.reopen import Reopened, recorded_campaign
from jostle.storage.campaign_record import CONFIG, COPY
from jostle.storage.defects import DEFECTS, read_defects
from jostle.storage.finding_record import RECORD, FindingRecord
from jostle.storage.findings import (
    FINDINGS,
    Recorded,
    SavedFinding,
    SavedRoot,
    finding_folders,
    read_finding,
    read_record,
    read_root,
)
from jostle.task import Task
from jostle.triage.words import counted

MOST_SEEDS = 10_000_000  # of a campaign; a record that tells of more is damaged
GIVE_FINDINGS = f"give a campaign's folder, with a {CONFIG} in it, or one of those under its {FINDINGS}"


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


@dataclass(frozen=True)
class Unreadable:
    """A finding that was left out, because its files are damaged."""

    folder: Path
    reason: str


@dataclass(frozen=True)
class ReadFindings:
    """The findings that some places stand for."""

    found: list[Recorded]
    unreadable: list[Unreadable]


def read_findings(places: Sequence[Path]) -> ReadFindings:
    """Findings that are named, and those in folders that are named, of which damaged ones are left out."""
    found: dict[Path, FindingRecord] = {}
    unreadable: dict[Path, Unreadable] = {}
    for place in places:
        for folder in findings_in(place):
            try:
                found[folder.resolve()] = read_record(folder)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                if folder == place:
                    raise UsageError(_no_finding(place, reason)) from error
                unreadable[folder.resolve()] = Unreadable(folder.resolve(), f"{RECORD}: {reason}")
    return ReadFindings(list(found.items()), list(unreadable.values()))


def record_in(folder: Path) -> FindingRecord:
    """The record of a finding; refused where there is none that can be read."""
    try:
        return read_record(folder)
    except (OSError, ValueError) as error:
        raise UsageError(_no_finding(folder, getattr(error, "strerror", None) or str(error))) from error


def refuse_if_none(readable: Sized, unreadable: Sequence[Unreadable]) -> None:
    """Refuses places in which every finding was left out."""
    if unreadable and not len(readable):
        first = unreadable[0]
        others = f", nor can {counted(len(unreadable) - 1, 'other')}" if len(unreadable) > 1 else ""
        raise UsageError(f"{first.folder} cannot be read ({first.reason}){others}: {GIVE_FINDINGS}")


def findings_in(place: Path) -> list[Path]:
    """The folders of findings that a place stands for; of a place that holds none, itself."""
    if (place / FINDINGS).is_dir():
        return finding_folders(place / FINDINGS)
    several = [folder for folder in finding_folders(place) if (folder / RECORD).exists()]
    return [place] if (place / RECORD).exists() or not several else several


def _no_finding(place: Path, reason: str) -> str:
    """What to say of a place that was named and holds nothing of ours."""
    if not place.exists():
        beside = place.parent.iterdir() if place.parent.is_dir() else ()
        ours = (path.name for path in beside if any((path / name).exists() for name in (CONFIG, RECORD)))
        near = nearest(place.name, ours)
        return f"{place} does not exist: {f'did you mean {near}? Else ' if near else ''}{GIVE_FINDINGS}"
    if not (place / RECORD).exists():
        reason = f"neither {CONFIG} nor {RECORD} is in it"
    return f"{place} holds no finding ({reason}): {GIVE_FINDINGS}"


def originals(place: Path) -> list[Path] | None:
    """The findings that a campaign's defects/ or one folder in it was copied from; None of any other place."""
    folder = place.resolve()
    whole = folder.name == DEFECTS and (folder.parent / CONFIG).exists()
    campaign = folder.parent if whole else folder.parent.parent
    if not folder.exists() or not (whole or (folder.parent.name == DEFECTS and (campaign / CONFIG).exists())):
        return None
    try:
        copied = {defect.name: campaign / FINDINGS / defect.findings[0] for defect in read_defects(campaign)}
    except OutputRefused as error:
        raise UsageError(f"{place} is a copy, and of which finding is not known, because {error}") from error
    chosen = list(copied.values()) if whole else [copied[folder.name]] if folder.name in copied else []
    if not chosen or not all(finding.is_dir() for finding in chosen):
        raise UsageError(
            f"{place} is a copy of a finding that is no longer known: give the finding itself, "
            f"{campaign / FINDINGS}/NAME, or let jostle triage {campaign} write its defects anew"
        )
    return chosen


def kept_finding(folder: Path, record: FindingRecord) -> KeptFinding:
    """A finding with the record of its campaign, of which findings of older versions have no copy."""
    own = (folder / COPY).exists()
    campaign = recorded_campaign(folder if own else folder.parent.parent, COPY if own else CONFIG)
    finding = read_finding(folder, record)
    root = read_root(finding)
    if not 0 <= record.root < MOST_SEEDS or campaign.record.origin.task not in list(Task):
        raise OutputRefused(f"{folder} tells of a seed or a task that cannot be: move the folder away")
    return KeptFinding(finding, root, campaign)
