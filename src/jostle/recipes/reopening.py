"""A campaign that was run before, from its folder."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from jostle.config import Settings, checked
from jostle.errors import UsageError
from jostle.storage.belonging import read_config


def settings_of(folder: Path) -> tuple[Settings, str]:
    """The settings that a campaign was run with, and the digest of its seeds and weights."""
    try:
        told = read_config(folder)
        digest = told["seeds and weights"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{folder} holds no campaign: give the folder that jostle fuzz wrote to ({error})") from error
    known = {field.name for field in fields(Settings)}
    given = {name: value for name, value in told.items() if name in known and value is not None}
    if not {"model", "seeds"} <= given.keys():
        raise UsageError(f"{folder} holds a config.json that is not of a campaign")
    settings = Settings(**{name: checked(name, value) for name, value in given.items()})
    if settings.contents() != told.get("files"):  # before any of them is opened
        raise UsageError(f"files that the campaign in {folder} was run with have changed: bring them back")
    return settings, digest
