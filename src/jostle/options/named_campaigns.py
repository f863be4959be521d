"""Campaigns that `jostle.toml` and pyproject.toml name: tables of options over those that stand above them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.options.campaign import HOME
from jostle.options.choices import chosen
from jostle.options.schema import Given, Schema
from jostle.options.toml_files import files_in, settings_in, table_at

CAMPAIGN = "campaign"  # [campaign.NAME] in jostle.toml, [tool.jostle.campaign.NAME] in pyproject.toml
OUT = "out"


@dataclass(frozen=True)
class NamedCampaign:
    """What a file says of one campaign; values are as TOML gives them."""

    name: str
    own: Mapping[str, Any]  # what its table sets
    shared: Mapping[str, Any]  # what stands above all tables

    def given(self, schema: Schema, flags: Mapping[str, Any]) -> Given:
        """Flags over its own options over shared ones; a folder above all tables is not that of each."""
        home = {OUT: str(HOME / self.name)}
        try:
            return schema.parsed({**self.shared, **home, **self.own, **schema.read(flags)})
        except UsageError as error:
            raise UsageError(f"campaign {self.name}: {error}") from error


def named_campaigns(schema: Schema, folder: Path, other_tables: Collection[str] = ()) -> dict[str, NamedCampaign]:
    """Every campaign of the files in a folder, by name, in their order."""
    names = [name for path, keys in files_in(folder).items() for name in _names(path, keys)]
    shared = settings_in(schema, folder, other_tables={*other_tables, CAMPAIGN})
    return {name: NamedCampaign(name, settings_in(schema, folder, (CAMPAIGN, name)), shared) for name in names}


def chosen_campaigns(known: Mapping[str, NamedCampaign], names: Sequence[str]) -> list[NamedCampaign]:
    """The campaigns of these names, in this order."""
    for position, name in enumerate(names):
        if not known:
            raise UsageError(f"there is no campaign {name!r}: write [campaign.{name}] into jostle.toml, or jostle init")
        chosen(CAMPAIGN, name, known)
        if name in names[:position]:
            raise UsageError(f"campaign {name!r} is named twice: name each once")
    return [known[name] for name in names]


def tables_in(folder: Path) -> list[Mapping[str, Any]]:
    """Every table of options for models that the files in a folder hold, the shared one and those of campaigns."""
    shared = [table_at(path, keys) for path, keys in files_in(folder).items()]
    own = [
        table_at(path, (*keys, CAMPAIGN, name))
        for path, keys in files_in(folder).items()
        for name in _names(path, keys)
    ]
    return [*shared, *own]


def _names(path: Path, keys: tuple[str, ...]) -> list[str]:
    """Names of the campaigns of one file, all of which can be names of folders."""
    tables = table_at(path, keys).get(CAMPAIGN, {})
    if not isinstance(tables, dict):
        raise UsageError(
            f"{path}: {CAMPAIGN} is no table: write [{'.'.join((*keys, CAMPAIGN))}.NAME] and settings below"
        )
    for name in tables:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", name):
            raise UsageError(f"{path}: campaign {name!r}: name campaigns with letters, digits, - and _")
    return list(tables)
