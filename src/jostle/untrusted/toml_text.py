"""TOML from strangers: of bounded size and depth; ValueError says what is not."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from jostle.untrusted.files import opened_regular
from jostle.untrusted.json_text import DIGITS

LARGEST = 16 * 2**20  # bytes
UNREADABLE = 4_301  # digits, which Python refuses to read


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
    except ValueError as error:
        raise (_too_long(content) or error) from error


def _too_long(content: bytes) -> ValueError | None:
    """What is wrong with TOML whose numbers have more digits than Python reads, None if they have not."""
    found = re.search(rb"[0-9_]{%d,}" % UNREADABLE, content)
    if found is None:
        return None
    line = content.count(b"\n", 0, found.start()) + 1
    return ValueError(f"line {line} holds a number of {len(found[0])} digits, more than {DIGITS}: give a smaller one")
