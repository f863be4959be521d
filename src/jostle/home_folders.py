"""Where Jostle keeps what is the user's own, outside of every project: configuration, and what it remembers of runs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

NAME = "jostle"
OWN_CONFIG = "config.toml"  # the user's own consents, in the configuration folder
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
PRIVATE = 0o700  # of a folder that nobody else looks into


def config_folder() -> Path:
    """Of files that the user writes: $XDG_CONFIG_HOME/jostle, ~/.config/jostle, on Windows %APPDATA%/jostle."""
    return _folder("XDG_CONFIG_HOME", "APPDATA", Path(".config"))


def state_folder() -> Path:
    """Of what Jostle remembers: $XDG_STATE_HOME/jostle, ~/.local/state/jostle, on Windows %LOCALAPPDATA%/jostle."""
    return _folder("XDG_STATE_HOME", "LOCALAPPDATA", Path(".local", "state"))


def not_own(place: Path) -> str:
    """Why a file or folder that is there may be another user's work; "" of one that only this user can have written.

    Windows keeps the user's profile from others by itself.
    """
    if os.name == "nt":
        return ""
    try:
        seen = place.lstat()
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"
    if stat.S_ISLNK(seen.st_mode):
        return "it is a link"
    if seen.st_uid != os.geteuid():
        return "it belongs to another user"
    return "others can write to it" if seen.st_mode & WRITABLE_BY_OTHERS else ""


def _folder(variable: str, on_windows: str, usual: Path) -> Path:
    """The folder of a variable if that is a full path, as XDG demands, else the usual one."""
    chosen = Path(os.environ.get(variable, ""))
    if chosen.is_absolute():
        return chosen / NAME
    known = os.environ.get(on_windows, "") if os.name == "nt" else ""
    return (Path(known) if known else _home() / usual) / NAME


def _home() -> Path:
    """The home folder; of a user who has none, one that is not there."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")
