"""Files that say what inputs may be: read key by key, and written so that a person can edit them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from jostle.domain import Domain
from jostle.errors import UsageError
from jostle.options.choices import nearest, unknown
from jostle.options.kinds import finite
from jostle.untrusted.files import check_regular
from jostle.untrusted.toml_text import read_toml

DOMAIN_FILE = "domain.toml"  # in the folder of a campaign
HEADING = "# What inputs may be, as this campaign keeps it. Edit a copy, and give it as --domain FILE.\n"


@dataclass(frozen=True)
class Section:
    """A table of a domain file, taken key by key; whatever is wrong is told with the file and the key."""

    file: str
    keys: tuple[str, ...]  # how it is reached
    values: Mapping[str, Any]

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def wrong(self, key: str, say: str) -> UsageError:
        """What to raise of a key."""
        place = ".".join(_key(part) for part in (*self.keys, key))
        return UsageError(f"--domain {self.file}: {place}: {say}")

    def only(self, *known: str) -> Section:
        """The same, refused if it has any other key."""
        for key in self.values:
            if key not in known:
                near = nearest(key, known)
                raise self.wrong(key, f"unknown key, did you mean {near!r}?" if near else "unknown key: remove it")
        return self

    def number(self, key: str, default: float) -> float:
        try:
            return finite(self.values.get(key, default))
        except ValueError:
            raise self.wrong(key, "give a number") from None

    def numbers(self, key: str) -> tuple[float, ...]:
        """One number, or several in a list."""
        value = self.values.get(key)
        try:
            return tuple(finite(one) for one in (value if isinstance(value, list) and value else [value]))
        except ValueError:
            raise self.wrong(key, "give a number, or a list of numbers") from None

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "give true or false")
        return value

    def text(self, key: str, known: tuple[str, ...], default: str) -> str:
        """One of these words."""
        value = self.values.get(key, default)
        if value not in known:
            raise self.wrong(key, unknown(str(value), known))
        return str(value)

    def items(self, key: str) -> list[Any]:
        """A list, empty if there is none."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "give a list in square brackets")
        return value

    def sections(self, key: str) -> dict[str, Section]:
        """The tables below a key, by name."""
        below = self.values.get(key, {})
        if not isinstance(below, dict):
            raise self.wrong(key, f"give tables, such as [{key}.NAME]")
        for name, values in below.items():
            if not isinstance(values, dict):
                raise self.wrong(key, f"{name} is no table: write [{key}.{_key(name)}] and its keys below")
        return {name: Section(self.file, (*self.keys, key, name), values) for name, values in below.items()}


def read_domain_file(file: str) -> Section:
    """All of a domain file, in which no key is looked at yet."""
    path = Path(file)
    try:
        check_regular(path)
        return Section(file, (), read_toml(path))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--domain {file} cannot be read: give a TOML file such as a campaign's {DOMAIN_FILE} ({error})"
        ) from error


def encode_domain(domain: Domain) -> bytes:
    """What a file says of a domain; read again, it gives the same domain."""
    return f"{HEADING}{tomli_w.dumps(domain.as_toml())}".encode()


def _key(name: str) -> str:
    """A key as TOML writes it."""
    return name if name and all(letter.isalnum() or letter in "-_" for letter in name) else f'"{name}"'
