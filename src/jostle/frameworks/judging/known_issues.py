"""Known findings, which are not reported again: a TOML file of signature patterns, each with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.frameworks.judging.signature import Signature
from jostle.untrusted.toml_text import read_toml

KEYS = {"signature", "reason"}


@dataclass(frozen=True)
class KnownIssue:
    """A pattern of signatures in which * stands for anything, and why they are not reported."""

    signature: str
    reason: str

    def matches(self, signature: Signature) -> bool:
        pattern = ".*".join(map(re.escape, " ".join(self.signature.split()).split("*")))
        return re.fullmatch(pattern, signature.text) is not None


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
        raise UsageError(f"{where} has {key!r}, which means nothing here: give signature and reason")
    for key in sorted(KEYS):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise UsageError(
                f"{where} has no {key}: say " + ("why it is known" if key == "reason" else "what it matches")
            )
    return KnownIssue(entry["signature"], entry["reason"])


def reason_for(signature: Signature, known: Sequence[KnownIssue]) -> str | None:
    """Why a finding is not reported, or None if it is."""
    return next((one.reason for one in known if one.matches(signature)), None)
