"""Options from `jostle.toml` and `[tool.jostle]` of pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.options.schema import Given, Schema

LARGEST = 2**20  # bytes of a file of options


def given_by(
    schema: Schema, flags: Mapping[str, Any], folder: Path, table: str = "", other_tables: Collection[str] = ()
) -> Given:
    """Flags over `jostle.toml` over `[tool.jostle]` in pyproject.toml.

    A command other than `jostle fuzz` has its options in a table of its own in both; those of others are left aside.
    """
    files = {
        folder / "pyproject.toml": ("tool", "jostle", *filter(None, [table])),
        folder / "jostle.toml": (*filter(None, [table]),),
    }
    merged: dict[str, Any] = {}
    for path, keys in files.items():
        values = _table(path, keys)
        merged |= schema.renamed({key: value for key, value in values.items() if key not in other_tables}, str(path))
    return schema.parsed({**merged, **schema.read(flags)})


def _table(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
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
    if not path.is_file():
        return {}
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST} bytes")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, ValueError, OSError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: fix it or move it away ({error})") from error
