"""Known findings, which are not reported again: a TOML file of signature patterns, each with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.graph_signature import Signature
from jostle.untrusted.toml_text import read_toml

SHIPPED = Path(__file__).with_name("known.toml")
NEEDED, KEYS = ("reason", "signature"), {"signature", "reason", "see"}


@dataclass(frozen=True)
class KnownIssue:
    """A pattern of signatures in which * stands for anything, why they are not reported, and where more is said."""

    signature: str
    reason: str
    see: str = ""

    def __str__(self) -> str:
        return f"{self.reason}, see {self.see}" if self.see else self.reason

    def matches(self, signature: Signature) -> bool:
        pattern = ".*".join(map(re.escape, " ".join(self.signature.split()).split("*")))
        return re.fullmatch(pattern, signature.text) is not None


def shipped() -> list[KnownIssue]:
    """What docs/findings.md lists, as far as models show it."""
    return known_in(SHIPPED)


def known_in(path: Path) -> list[KnownIssue]:
    """What a file lists; UsageError if it is not such a file."""
    try:
        content = read_toml(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: no list of known findings ({str(error).splitlines()[0]})") from error
    if content.keys() - {"known"} or not isinstance(content.get("known", []), list):
        raise UsageError(f"{path}: known findings are listed under [[known]], with signature and reason")
    return [_entry(path, number, one) for number, one in enumerate(content.get("known", []), 1)]


def _entry(path: Path, number: int, entry: Any) -> KnownIssue:
    where = f"{path}: known finding {number}"
    if not isinstance(entry, Mapping):
        raise UsageError(f"{where} is no table: write [[known]] above its signature and reason")
    for key in entry.keys() - KEYS:
        raise UsageError(f"{where} has {key!r}, which means nothing here: give signature, reason and see")
    if not isinstance(entry.get("see", ""), str):
        raise UsageError(f"{where} says where to see more in something else than a text")
    for key in NEEDED:
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise UsageError(
                f"{where} has no {key}: say " + ("why it is known" if key == "reason" else "what it matches")
            )
    return KnownIssue(entry["signature"], entry["reason"], entry.get("see", ""))


def known_as(signature: Signature, known: Sequence[KnownIssue]) -> KnownIssue | None:
    """As what a finding is known, if it is."""
    return next((one for one in known if one.matches(signature)), None)
