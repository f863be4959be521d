"""A campaign that was run before, from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jostle.config import Settings, settings_from
from jostle.errors import UsageError
from jostle.storage.ownership import read_config


def settings_of(folder: Path) -> tuple[Settings, str]:
    """The settings that a campaign was run with, and the digest of its seeds and weights; files are as they were."""
    settings, told = told_settings(folder)
    if settings.contents() != told.get("files"):  # before any of them is opened
        raise UsageError(f"files that the campaign in {folder} was run with have changed: bring them back")
    return settings, told["seeds and weights"]


def told_settings(folder: Path) -> tuple[Settings, dict[str, Any]]:
    """The settings that a campaign was run with, and all that its configuration tells."""
    try:
        told = read_config(folder)
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder} holds no campaign: give the folder that jostle fuzz wrote to ({error})") from error
    if "backends" in told:
        raise UsageError(f"{folder} is a campaign over frameworks: each of its findings has a reproduce.py to run")
    if not {"model", "seeds", "seeds and weights"} <= told.keys():
        raise UsageError(f"{folder} holds a config.json that is not of a campaign")
    return settings_from(told), told
