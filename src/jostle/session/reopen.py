"""A campaign over a model that was run before, from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jostle.composition.settle import FUZZ
from jostle.digests import digest_of_file
from jostle.errors import UsageError
from jostle.options.schema import Given
from jostle.storage.campaign_record import CampaignRecord, read_campaign
from jostle.storage.finding_record import InputType


@dataclass(frozen=True)
class Reopened:
    """The options that a campaign was run with, and its record."""

    given: Given
    record: CampaignRecord

    def files_changed(self) -> bool:
        """Whether a file that options name is not what it was."""
        return any(digest_of_file(name) != digest for name, digest in self.record.files.items())


def reopen(folder: Path) -> Reopened:
    """The campaign in a folder, whose files must be as they were."""
    campaign = recorded_campaign(folder)
    if campaign.files_changed():  # before any of them is opened
        raise UsageError(f"files that the campaign in {folder} was run with have changed: bring them back")
    return campaign


def recorded_campaign(folder: Path) -> Reopened:
    """The campaign in a folder, as its record tells of it."""
    try:
        record = read_campaign(folder)
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder} holds no campaign: give the folder that jostle fuzz wrote to ({error})") from error
    if record.input_type is InputType.GRAPH:
        raise UsageError(f"{folder} is a campaign over frameworks: each of its findings has a reproduce.py to run")
    if not {"model", "seeds"} <= record.settings.keys() or not record.digest:
        raise UsageError(f"{folder} holds a config.json that is not of a campaign")
    options = {name: value for name, value in record.all_settings.items() if name in FUZZ.options}
    return Reopened(FUZZ.parsed(options), record)
