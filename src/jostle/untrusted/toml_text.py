"""TOML from strangers: of bounded size and depth; ValueError says what is not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from jostle.untrusted.files import opened_regular

LARGEST = 16 * 2**20  # bytes


def read_toml(path: Path, limit: int = LARGEST) -> dict[str, Any]:
    """What a TOML file says that a user names, by a link perhaps."""
    with opened_regular(path, limit) as file:
        return parsed_toml(file.read())


def parsed_toml(content: bytes) -> dict[str, Any]:
    """What TOML in UTF-8 says."""
    try:
        return tomllib.loads(content.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("its TOML is nested too deeply") from error
