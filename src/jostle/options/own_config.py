"""Consents that the user gives once and for all: `config.toml` in the user's own configuration folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.home_folders import OWN_CONFIG, config_folder, not_own
from jostle.options.choices import nearest
from jostle.options.declaration import Option
from jostle.options.toml_files import table_at


def own_config() -> Path:
    """The user's own file of consents, which need not be there."""
    return config_folder() / OWN_CONFIG


def own_consents(known: Iterable[Option]) -> dict[str, Any]:
    """What the user's own file chooses of these options, all of which are consents; others in it are refused.

    A file that another user may have written is refused, because it would consent in this user's name.
    """
    path = own_config()
    if not path.exists():
        return {}
    for place in (path, path.parent):
        why = not_own(place)
        if why:
            raise UsageError(f"{place}: {why}, so it cannot consent for you: chmod go-w it, or move it away")
    options = {option.name: option for option in known}
    values = {key.replace("-", "_"): value for key, value in table_at(path, ()).items()}
    for name in values:
        if name not in options:
            near = nearest(name, options)
            hint = f"did you mean {near!r}?" if near else f"it holds {', '.join(options)}; all else is for jostle.toml"
            raise UsageError(f"{path}: unknown consent {name!r}: {hint}")
    return {name: options[name].parsed(value) for name, value in values.items()}
