"""A campaign that was run before, from its folder."""

from __future__ import annotations

from pathlib import Path

from jostle.config import Settings, settings_from
from jostle.errors import UsageError
from jostle.storage.campaign_record import CampaignRecord, read_campaign
from jostle.storage.finding_record import InputType


def settings_of(folder: Path) -> tuple[Settings, str]:
    """The settings that a campaign was run with, and the digest of its seeds and weights; files are as they were."""
    settings, record = recorded_settings(folder)
    if settings.contents() != record.files:  # before any of them is opened
        raise UsageError(f"files that the campaign in {folder} was run with have changed: bring them back")
    return settings, record.digest


def recorded_settings(folder: Path) -> tuple[Settings, CampaignRecord]:
    """The settings that a campaign over a model was run with, and all of its record."""
    try:
        record = read_campaign(folder)
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder} holds no campaign: give the folder that jostle fuzz wrote to ({error})") from error
    if record.input_type is InputType.GRAPH:
        raise UsageError(f"{folder} is a campaign over frameworks: each of its findings has a reproduce.py to run")
    if not {"model", "seeds"} <= record.settings.keys() or not record.digest:
        raise UsageError(f"{folder} holds a config.json that is not of a campaign")
    return settings_from(record.all_settings), record
