"""Which defects make a command fail: of which kinds, and beyond how many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jostle.errors import UsageError
from jostle.options.choices import chosen
from jostle.options.declaration import Theme, option
from jostle.options.kinds import LARGEST, NAMES, TEXT, Bounds, Kind
from jostle.storage.defect_record import Defect
from jostle.storage.json_fields import json_object, records, text
from jostle.triage.kinds import KINDS, family
from jostle.triage.words import counted
from jostle.untrusted.files import HEADER_LIMIT, read_bounded
from jostle.untrusted.json_text import parsed_json
from jostle.visible import one_line

NUMBER = re.compile(r"[+-]?[0-9][0-9._]*")


def _baseline(value: Any) -> int | str:
    """A whole number, also as a flag's text, or the name of a file."""
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        checked: str = TEXT.check(value)
        return checked
    whole = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20 else value
    if isinstance(whole, bool) or not isinstance(whole, int) or not 0 <= whole <= LARGEST:
        raise ValueError("give a whole number from 0 on, or the file that jostle export --json wrote")
    return whole


# Of any name, because oracles of a user's own make kinds of their own; `refuse_unknown_kinds` knows them.
KIND_NAMES = Kind("NAMES", NAMES.read, lambda value: tuple(dict.fromkeys(NAMES.check(value))), NAMES.bad)
BASELINE = Kind(
    "BASELINE",
    lambda text: text,
    _baseline,
    (-1, "-1", "1.5", True, "", 10**400, 10**5000, [3]),
    bounds=Bounds(0, LARGEST),
)


@dataclass(frozen=True)
class GateOptions:
    """Which defects make a command fail."""

    fail_on: tuple[str, ...] = option(
        KIND_NAMES,
        "Only defects of these kinds make the exit code 1: nan,crash,agree",
        Theme.OUTPUT,
        default=(),
        may_change=True,
    )
    fail_if_more_than: int | str | None = option(
        BASELINE,
        "Only more defects of a kind than this make it 1: a number, or the file that `jostle export --json` wrote",
        Theme.OUTPUT,
        may_change=True,
    )


@dataclass(frozen=True)
class Excess:
    """A kind with more defects than are let pass."""

    kind: str
    defects: int
    allowed: int

    def __str__(self) -> str:
        return f"{counted(self.defects, 'defect')} of kind {one_line(self.kind)}, and {self.allowed:,} let pass"


@dataclass(frozen=True)
class Gate:
    """What is let pass; a defect that only some runs show is a defect too."""

    kinds: tuple[str, ...] = ()  # that can fail, each with all its twins; all where none is named
    of_each: int = 0  # how many defects of a kind are let pass
    known: Mapping[str, int] = field(default_factory=dict)  # of these kinds, how many instead

    def excesses(self, defects: Sequence[Defect]) -> list[Excess]:
        """The kinds that fail, by name; none where all is let pass."""
        counts = Counter(one.cause.kind for one in defects if not self.kinds or family(one.cause.kind) in self.kinds)
        allowed = {kind: self.known.get(kind, self.of_each) for kind in counts}
        return [Excess(kind, counts[kind], allowed[kind]) for kind in sorted(counts) if counts[kind] > allowed[kind]]


def gate_of(options: GateOptions) -> Gate | None:
    """The gate that was asked for; None where nobody asked for one. Its file is read here."""
    baseline = options.fail_if_more_than
    if baseline is None:
        return Gate(options.fail_on) if options.fail_on else None
    if isinstance(baseline, int):
        return Gate(options.fail_on, of_each=baseline)
    return Gate(options.fail_on, known=_counted_in(Path(baseline)))


def refuse_unknown_kinds(options: GateOptions, oracles: Iterable[str], found: Iterable[str] = ()) -> None:
    """Refuses a kind that no defect can have: neither ours, nor one that was found or that the baseline tells of.

    What an oracle of the user's own calls its defects only they tell, so beside one any name may be right.
    """
    unknown = [name for name in options.fail_on if name not in KINDS]
    if unknown and all(name in KINDS for name in oracles):
        gate = gate_of(options)
        known = [*KINDS, *map(family, (*found, *(gate.known if gate is not None else ())))]
        for name in unknown:
            chosen("--fail-on", name, dict.fromkeys(known))


def _counted_in(path: Path) -> dict[str, int]:
    """How many defects of each kind a file tells of."""
    try:
        content = json_object(parsed_json(read_bounded(path, HEADER_LIMIT)))
        return dict(Counter(text(one, "kind") for one in records(content, "defects")))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--fail-if-more-than {path}: give a number, or the file that jostle export --json wrote ({reason})"
        ) from error
