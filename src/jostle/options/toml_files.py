"""Options from `jostle.toml` and `[tool.jostle]` of pyproject.toml."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.options.schema import Given, Schema
from jostle.untrusted.toml_text import read_toml

CONFIG_FILE = "jostle.toml"
LARGEST = 2**20  # bytes of a file of options


def given_by(
    schema: Schema, flags: Mapping[str, Any], folder: Path, table: str = "", other_tables: Collection[str] = ()
) -> Given:
    """Flags over `jostle.toml` over `[tool.jostle]` in pyproject.toml.

    A command other than `jostle fuzz` has its options in a table of its own in both; those of others are left aside.
    """
    settings = settings_in(schema, folder, (*filter(None, [table]),), other_tables)
    return schema.parsed({**settings, **schema.read(flags)})


def settings_in(
    schema: Schema, folder: Path, table: Sequence[str] = (), other_tables: Collection[str] = ()
) -> dict[str, Any]:
    """What a table of `jostle.toml` says over the same one below `[tool.jostle]`; an unknown setting is refused."""
    merged: dict[str, Any] = {}
    for path, keys in files_in(folder, table).items():
        values = {key: value for key, value in table_at(path, keys).items() if key not in other_tables}
        where = f"{path} [{'.'.join(keys)}]" if table else str(path)
        merged |= schema.renamed(values, where, other_tables)
    return merged


def files_in(folder: Path, table: Sequence[str] = ()) -> dict[Path, tuple[str, ...]]:
    """Files that hold options, and under which keys each holds this table; later ones come before earlier ones."""
    return {folder / "pyproject.toml": ("tool", "jostle", *table), folder / CONFIG_FILE: (*table,)}


def table_at(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    """The table under these keys, empty where there is none."""
    found: Any = _read(path)
    for depth, key in enumerate(keys):
        found = found.get(key, {})
        if not isinstance(found, dict):
            if key == "tool":
                return {}
            name = ".".join(keys[: depth + 1])
            raise UsageError(f"{path}: {key} is no table: write [{name}] and settings below it")
    return dict(found)


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path, LARGEST)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: fix it or move it away ({error})") from error
