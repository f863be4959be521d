"""Whose folder is this? A campaign goes on in its own, and touches no other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from jostle.errors import OutputRefused
from jostle.storage.files import read_json, temporary, usable

CONFIG = "config.json"
FORMAT_NAME = "folder format"
FORMAT = 1  # of all that stands in a campaign's folder; another number, another layout


def check_folder(folder: Path, identity: Mapping[str, Any], unbound: Mapping[str, Any]) -> None:
    """Refuses a folder that holds anything but this campaign; touches nothing."""
    try:
        with usable(folder):
            if (folder / CONFIG).exists():
                _check_same(folder, read_config(folder), dict(identity), unbound.keys())
            elif folder.exists() and any(path.name not in BEFORE_CONFIG for path in folder.iterdir()):
                raise OutputRefused(f"{folder} is not empty and holds no campaign: give another --out")
    except ValueError as error:
        raise OutputRefused(
            f"{folder / CONFIG} is damaged or not of a campaign ({error}): bring it back, or give another --out"
        ) from error


BEFORE_CONFIG = ("lock", temporary(Path(CONFIG)).name)  # what a process that died at once may have left


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of the campaign in this folder; ValueError if it is none, refused if of another version."""
    told = read_json(folder / CONFIG)
    if not isinstance(told, dict):
        raise ValueError("no JSON object")
    if told.get(FORMAT_NAME) != FORMAT:
        raise OutputRefused(
            f"{folder} was written by another version of Jostle ({FORMAT_NAME} {told.get(FORMAT_NAME, 'unknown')}, "
            f"this one has {FORMAT}): go on with that version, or give another --out"
        )
    return told


def _check_same(folder: Path, old: dict[str, Any], new: dict[str, Any], unbound: Collection[str]) -> None:
    names = (old.keys() | new.keys()) - {FORMAT_NAME, *unbound}
    changed = sorted(name for name in names if old.get(name) != new.get(name))
    if changed:
        raise OutputRefused(
            f"{folder} holds another campaign (changed: {', '.join(changed)}): give another --out, or none to have "
            f"a folder named after the settings"
        )
