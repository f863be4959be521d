"""What classes are called, from a file that a user gives; a campaign keeps them in its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.storage.files import write_json
from jostle.untrusted.files import read_bounded
from jostle.untrusted.json_text import parsed_json

CLASS_NAMES = "classes.json"  # in a campaign's folder
MOST = 1_000_000  # bytes of such a file
LONGEST = 60  # characters of a name
NAMED = 3  # classes without a name that a warning tells
FORMS = 'give a file with one name a line, a JSON list, or {"0": "cat"}'

ClassNames = Mapping[int, str]


def read_class_names(path: Path) -> ClassNames:
    """The names by class; refused where the file is none of the three forms."""
    try:
        names = _named(read_bounded(path, MOST).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"--classes {path}: it is no text: {FORMS}") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"--classes {path}: {error}: {FORMS}") from error
    if not names:
        raise UsageError(f"--classes {path} names no class: {FORMS}")
    return names


def unnamed_classes(path: Path, names: ClassNames, classes: int) -> Iterator[str]:
    """A line about the classes of a model with at least so many that the file does not name; none if it names all."""
    unnamed = [number for number in range(min(classes, MOST)) if number not in names]
    if unnamed:
        more = f" and {len(unnamed) - NAMED:,} more" if len(unnamed) > NAMED else ""
        some = f"class {', '.join(map(str, unnamed[:NAMED]))}{more} of at least {classes:,}"
        yield f"--classes {path} has no name for {some}: these are called by their numbers"


def keep_class_names(folder: Path, names: ClassNames) -> bool:
    """Writes them into a campaign's folder, so that who opens it reads no file that the folder names.

    Tells whether they are others than those that stood there.
    """
    try:
        same = campaign_class_names(folder) == names
    except UsageError:  # damaged
        same = False
    write_json(folder / CLASS_NAMES, {str(number): name for number, name in names.items()})
    return not same


def campaign_class_names(folder: Path) -> ClassNames:
    """Those that the campaign in this folder was run with, none where it was run without."""
    path = folder / CLASS_NAMES
    return read_class_names(path) if path.is_file() and not path.is_symlink() else {}


def _named(text: str) -> ClassNames:
    if not text.lstrip().startswith(("[", "{")):
        return {number: _cut(line.strip()) for number, line in enumerate(text.rstrip().splitlines())}
    content = parsed_json(text)
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    return {_number(number): _name(name) for number, name in pairs}


def _number(number: Any) -> int:
    try:
        return int(number)
    except ValueError as error:
        raise ValueError(f"{str(number)[:LONGEST]!r} is no number of a class") from error


def _name(name: Any) -> str:
    if not isinstance(name, str | int):
        raise ValueError("a name is no text")
    return _cut(str(name))


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
