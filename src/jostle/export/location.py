"""Where a file is, as a reader of another machine finds it: relative to the checkout where possible."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import quote

from jostle.named_objects import names_object
from jostle.visible import one_line


@dataclass(frozen=True)
class SourcePlace:
    """A file or folder: relative to the working folder, or absolute. Nobody looked whether it is there."""

    path: str  # with forward slashes

    @property
    def is_relative(self) -> bool:
        return not self.path.startswith("/") and not PurePath(self.path).is_absolute()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def shown(self) -> str:
        """The path on one line that can be seen."""
        return one_line(self.path)

    @property
    def uri(self) -> str:
        """Relative to the checkout, or of the scheme `file`; holds nothing but ASCII that needs no escape."""
        quoted = quote(self.path, safe="/", errors="replace")
        return quoted if self.is_relative else f"file:///{quoted.lstrip('/')}"


def location_of(model: str, ran_in: str, here: Path) -> SourcePlace | None:
    """The file of a model as a user named it in another folder, seen from here; None where it names no file."""
    place, _, _ = model.rpartition(":")
    if not names_object(model):
        return seen_from(model, ran_in, here)
    return seen_from(place, ran_in, here) if place.endswith(".py") else None


def seen_from(name: str, ran_in: str, here: Path) -> SourcePlace:
    """Relative if it lies below this folder, or was named so and the folder it was named in is of another machine."""
    whole = PurePath(os.path.normpath(PurePath(ran_in) / name))
    if whole.is_relative_to(here):
        return SourcePlace(whole.relative_to(here).as_posix())
    typed = PurePath(os.path.normpath(name))
    inside = not typed.is_absolute() and ".." not in typed.parts
    return SourcePlace(typed.as_posix() if inside or not whole.is_absolute() else whole.as_posix())
