"""Whose folder is this? A campaign goes on in its own, and touches no other."""

from __future__ import annotations

from pathlib import Path

from jostle.errors import ResumeRefused
from jostle.storage.campaign_record import CONFIG, CampaignRecord, read_campaign
from jostle.storage.files import temporary, usable
from jostle.storage.own_folders import refuse_linked_folders

BEFORE_CONFIG = ("lock", temporary(Path(CONFIG)).name)  # what a process that died at once may have left


def check_folder(folder: Path, record: CampaignRecord) -> None:
    """Refuses a folder that holds anything but this campaign; touches nothing."""
    try:
        with usable(folder):
            if (folder / CONFIG).exists():
                refuse_linked_folders(folder)
                _check_same(folder, read_campaign(folder), record)
            elif folder.exists() and any(path.name not in BEFORE_CONFIG for path in folder.iterdir()):
                raise ResumeRefused(f"{folder} is not empty and holds no campaign: give another --out")
    except ValueError as error:
        raise ResumeRefused(
            f"{folder / CONFIG} is damaged or not of a campaign ({error}): bring it back, or give another --out"
        ) from error


def _check_same(folder: Path, old: CampaignRecord, new: CampaignRecord) -> None:
    changed = old.changes(new)
    if changed:
        raise ResumeRefused(
            f"{folder} holds another campaign (changed: {', '.join(changed)}): give another --out, or none to have "
            f"a folder named after the settings"
        )
