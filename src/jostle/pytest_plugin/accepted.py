"""`jostle-accepted.toml`: defects that a team knows and lives with, why, and until when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.options.choices import nearest
from jostle.triage.kinds import matches
from jostle.untrusted.toml_text import read_toml

FILE = "jostle-accepted.toml"
KEYS = ("defect", "reason", "until", "test")


@dataclass(frozen=True)
class Acceptance:
    """One entry: whose defects of which kinds or names are accepted."""

    defect: str  # a kind or a name, which may hold `*`
    reason: str
    until: date  # the last day
    test: str | None = None  # its node id, which may hold `*`; None of all

    def covers(self, kind: str, name: str, test: str) -> bool:
        """Whether it is of this defect in this test, on whatever day."""
        return matches(self.defect, kind, name) and self._of(test)

    def _of(self, test: str) -> bool:
        """A test stands for all its parameters, whose brackets are no pattern."""
        if self.test is None or self.test in (test, test.partition("[")[0]):
            return True
        return fnmatchcase(test, self.test)

    def expired(self, today: date) -> bool:
        return today > self.until


@dataclass(frozen=True)
class Acceptances:
    """All entries of the file."""

    entries: Sequence[Acceptance] = ()

    def of(self, kind: str, name: str, test: str) -> Acceptance | None:
        """The entry that lasts longest of those that cover a defect; it may have expired."""
        covering = [entry for entry in self.entries if entry.covers(kind, name, test)]
        return max(covering, key=lambda entry: entry.until, default=None)


def read_accepted(root: Path) -> Acceptances:
    """What the file at the root of the tests says; nothing is accepted where there is none."""
    path = root / FILE
    try:
        content = read_toml(path)
    except FileNotFoundError:
        return Acceptances()
    except (OSError, ValueError) as error:
        raise UsageError(f"{FILE} cannot be read: {' '.join(str(error).split())}") from error
    entries = content.pop("accepted", [])
    if content or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{FILE}: write entries as [[accepted]], each with defect, reason and until, and nothing else")
    return Acceptances([_entry(entry, number) for number, entry in enumerate(entries, 1)])


def _entry(content: Mapping[str, Any], number: int) -> Acceptance:
    where = f"{FILE}: entry {number}"
    for key in content.keys() - set(KEYS):
        near = nearest(key, KEYS)
        raise UsageError(f"{where} has an unknown {key!r}{f', did you mean {near!r}?' if near else ': remove it'}")
    texts = {key: content.get(key) for key in ("defect", "reason")}
    for key, value in texts.items():
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f'{where} has no {key}: add {key} = "…"')
    until, test = content.get("until"), content.get("test")
    if isinstance(until, datetime) or not isinstance(until, date):
        raise UsageError(f"{where} has no day on which it ends: add until = 2027-01-31, without quotes")
    if test is not None and not isinstance(test, str):
        raise UsageError(f'{where}: test is the id of a test, such as "tests/test_digits.py::test_digits"')
    return Acceptance(str(texts["defect"]), str(texts["reason"]), until, test)
