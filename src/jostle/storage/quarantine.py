"""Where damaged files go: out of the way, and not lost."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

from jostle.storage.files import move

QUARANTINE = "quarantine"
LONGEST = 80  # characters of a name, so that the whole path fits everywhere


class Quarantine:
    """Moves what is damaged in a campaign's folder aside, and keeps what the user should be told of it."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.warnings: list[str] = []

    def set_aside(self, path: Path, name: str | None = None) -> None:
        """Moves a file or folder away, under a name that no other has."""
        move(path, self.free(name or "-".join(path.relative_to(self._folder).parts)))

    def free(self, name: str) -> Path:
        """A path in the quarantine that nothing has yet."""
        stem, dot, suffix = portable_name(name).rpartition(".")
        stem, suffix = (stem, dot + suffix) if stem else (suffix, "")
        names = (f"{stem[:LONGEST]}{'' if number == 1 else f'-{number}'}{suffix}" for number in count(1))
        return next(path for path in (self._folder / QUARANTINE / name for name in names) if not path.exists())

    def warn(self, line: str) -> None:
        self.warnings.append(line)


def portable_name(name: str) -> str:
    """A name that every file system takes, without dots or dashes at its ends."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
