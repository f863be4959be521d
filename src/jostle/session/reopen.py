"""A campaign that was run before, from its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.digests import digest_of_file
from jostle.errors import UsageError
from jostle.options.schema import Given
from jostle.recipes.settle import FUZZ
from jostle.session.identity import FILES
from jostle.storage.ownership import read_config

SEEDS_AND_WEIGHTS = "seeds and weights"  # under which a configuration holds their digest


@dataclass(frozen=True)
class Reopened:
    """The options that a campaign was run with, and what it was run on."""

    given: Given
    digest: str  # of seeds and weights
    files: dict[str, str]  # digests of files that options name

    def files_changed(self) -> bool:
        """Whether a file that options name is not what it was."""
        return any(digest_of_file(name) != digest for name, digest in self.files.items())


def reopen(folder: Path) -> Reopened:
    """The campaign in a folder, whose files must be as they were."""
    campaign = recorded_campaign(folder)
    if campaign.files_changed():  # before any of them is opened
        raise UsageError(f"files that the campaign in {folder} was run with have changed: bring them back")
    return campaign


def recorded_campaign(folder: Path) -> Reopened:
    """The campaign in a folder, as its configuration tells of it."""
    try:
        config = read_config(folder)
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder} holds no campaign: give the folder that jostle fuzz wrote to ({error})") from error
    if "backends" in config:
        raise UsageError(f"{folder} is a campaign over frameworks: each of its findings has a reproduce.py to run")
    if not {"model", "seeds", SEEDS_AND_WEIGHTS} <= config.keys():
        raise UsageError(f"{folder} holds a config.json that is not of a campaign")
    return Reopened(FUZZ.parsed(_chosen(config)), config[SEEDS_AND_WEIGHTS], dict(config.get(FILES, {})))


def _chosen(config: dict[str, Any]) -> dict[str, Any]:
    """The options of a configuration; what is empty was left open."""
    return {name: value for name, value in config.items() if name in FUZZ.options and value not in (None, [])}
