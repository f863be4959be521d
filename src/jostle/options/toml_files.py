"""Options from `jostle.toml` and `[tool.jostle]` of pyproject.toml."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.home_folders import OWN_CONFIG, config_folder
from jostle.named_objects import names_object
from jostle.options.campaign import FolderOptions
from jostle.options.declaration import Option, options_of
from jostle.options.schema import Given, Schema
from jostle.untrusted.toml_text import read_toml

CONFIG_FILE = "jostle.toml"
LARGEST = 2**20  # bytes of a file of options
FOLDER_CONSENTS = options_of(FolderOptions)  # which only commands on a campaign's folder ask for


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
        _refuse_consents({**FOLDER_CONSENTS, **schema.options}, values, where)
        known = schema.renamed(values, where, other_tables)
        merged |= known
    return merged


def _refuse_consents(options: Mapping[str, Option], values: Mapping[str, Any], where: str) -> None:
    """A file that comes with a project does not consent for whoever runs the project."""
    for key, value in values.items():
        option = options.get(key.replace("-", "_"))
        if option and any(type(value) is type(consent) and value == consent for consent in option.consents):
            raise UsageError(
                f"{where}: {option.name} = {str(value).lower()} is a consent, which no file of a project can give: "
                f"remove it there, and give {option.spelled(value)} yourself or set it in "
                f"{config_folder() / OWN_CONFIG}"
            )


def code_named(schema: Schema, given: Given, flags: Mapping[str, Any]) -> list[str]:
    """Files and modules of Python that options name which no flag gave, and so files of the project."""
    named = [name for name, option in schema.options.items() if option.names_python and flags.get(name) is None]
    specs = [spec for name in named for spec in given.texts(name) if names_object(spec)]
    return list(dict.fromkeys(spec.rpartition(":")[0] for spec in specs))


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
