"""The campaign in a folder that a user names, or what to say where there is none."""

from __future__ import annotations

from pathlib import Path

from jostle.errors import ResumeRefused
from jostle.storage.campaign_record import CONFIG, COPY, CampaignRecord, read_campaign
from jostle.storage.findings import FINDINGS, finding_folders
from jostle.storage.journal import JOURNAL
from jostle.storage.own_folders import refuse_linked_folders

GIVE_CAMPAIGN = f"give the folder that jostle fuzz wrote to (or jostle frameworks), with a {CONFIG} in it"


def campaign_in(folder: Path, name: str = CONFIG) -> CampaignRecord:
    """The campaign in this folder, as its record of this name tells of it; refused if there is none."""
    refuse_linked_folders(folder)
    try:
        return read_campaign(folder, name)
    except FileNotFoundError as error:
        raise ResumeRefused(_without_record(folder, name)) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResumeRefused(
            f"{folder} holds no campaign, because {name} cannot be read ({reason}): {GIVE_CAMPAIGN}"
        ) from error


def _without_record(folder: Path, name: str) -> str:
    """What to say of a folder that has no such record."""
    if not folder.exists():
        return f"{folder} holds no campaign, because there is no such folder: {GIVE_CAMPAIGN}"
    if name == CONFIG and ((folder / JOURNAL).exists() or (folder / FINDINGS).is_dir()):
        return f"{folder / CONFIG} is missing, though the rest of a campaign is there: {_way_back(folder)}"
    return f"{folder} holds no campaign, because it has no {name}: {GIVE_CAMPAIGN}"


def _way_back(folder: Path) -> str:
    """How a campaign without its record gets it again: every finding has a copy."""
    copies = (place / COPY for place in finding_folders(folder / FINDINGS))
    copy = next((path for path in copies if path.is_file()), None)
    return "bring it back" if copy is None else f"bring it back, or copy {copy} to it, which says the same"
