"""An option is declared once, as a field of the frozen dataclass that its part is made from.

    @dataclass(frozen=True)
    class RecentOptions:
        newest: int = option(COUNT, "How many of the newest entries `recent` prefers", SCHEDULING, default=5)

Flags, TOML keys, help, refusals and the campaign's identity all follow from it (options.schema, cli.flags).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from typing import Any

from jostle.errors import UsageError
from jostle.options.kinds import Kind, NotThisName, shown

DECLARED = "option"  # the key of a field's metadata


class Theme(StrEnum):
    """The headings of `--help`, in their order."""

    FIRST = "What most people need"
    WHAT = "What to fuzz"
    DEFECTS = "What counts as a defect"
    GUIDES = "What guides"
    MUTATION = "Mutation"
    GRADIENTS = "Gradients"
    SCHEDULING = "Scheduling"
    BUDGET = "Budget"
    SAFETY = "Safety"
    OUTPUT = "Output"


@dataclass(frozen=True)
class Facts:
    """What is known of a campaign when options that were left open are filled in."""

    given: Mapping[str, Any]  # what the user chose
    range: tuple[float, float] = (0.0, 1.0)  # of input values
    classes: bool = False  # the model gives class scores
    images: bool = False  # the seeds are what 8-bit image files hold
    compares: bool = False  # answers are held against others, those for the seeds or of another model
    compares_with_seeds: bool = False
    labels: bool = False  # the model says yes or no, once or of several labels

    @property
    def span(self) -> float:
        return self.range[1] - self.range[0]


@dataclass(frozen=True)
class Derived:
    """A default that depends on what is known, and how `--help` tells of it."""

    value: Callable[[Facts], Any]
    description: str


@dataclass(frozen=True)
class Option:
    """What a user may choose: how it is read, under which heading it stands, and what holds where it is left open."""

    name: str
    kind: Kind
    line: str
    theme: Theme
    default: Any
    flags: str | None  # how it is spelled, where that does not follow from the name
    may_change: bool  # between two runs of one campaign
    names_file: bool  # its value names files or Python, whose content belongs to the campaign's identity
    names_python: bool  # its value may be FILE.py:name or module:name, and using it executes that
    consents: tuple[Any, ...]  # values that give up a protection, which no file of a project and no folder can choose

    @property
    def flag(self) -> str:
        return flag_of(self.name)

    def spelled(self, value: Any) -> str:
        """The flag that says this value."""
        on, _, off = (self.flags or self.flag).partition("/")
        return (on if value else off) if isinstance(value, bool) else f"{on} {value}"

    @property
    def help(self) -> str:
        """Its line, with what holds if it is left out."""
        default = self.default.description if isinstance(self.default, Derived) else self.kind.show(self.default)
        if not default:
            return f"{self.line}."
        return f"{self.line[:-1]}; default {default})." if self.line.endswith(")") else f"{self.line} ({default})."

    def parsed(self, value: Any) -> Any:
        """The value in its own type; UsageError that names the option where it is none."""
        try:
            return self.kind.check(value)
        except NotThisName as refusal:
            raise UsageError(f"{self.flag} {refusal}") from refusal
        except (ValueError, TypeError) as error:
            raise UsageError(f"{self.flag} {_cut(shown(value))}: {error}") from error

    def settled(self, facts: Facts) -> Any:
        """The default, for what is known."""
        return self.default.value(facts) if isinstance(self.default, Derived) else self.default


def option(
    kind: Kind,
    line: str,
    theme: Theme,
    *,
    default: Any = None,
    flags: str | None = None,
    may_change: bool = False,
    names_file: bool = False,
    names_python: bool = False,
    consents: tuple[Any, ...] = (),
) -> Any:
    """A field that declares an option; a constant default also stands on the class, for the part's constructor."""
    declared = {
        "kind": kind,
        "line": line,
        "theme": theme,
        "default": default,
        "flags": flags,
        "may_change": may_change,
        "names_file": names_file,
        "names_python": names_python,
        "consents": consents,
    }
    return field(default=None if isinstance(default, Derived) else default, metadata={DECLARED: declared})


def options_of(group: type) -> dict[str, Option]:
    """The options that a dataclass declares, by name."""
    return {one.name: _option(one) for one in fields(group)}


def check(group: type, **values: Any) -> None:
    """Refuses values of a part's constructor that its options would refuse; None is left to the constructor."""
    declared = options_of(group)
    for name, value in values.items():
        if value is not None:
            declared[name].parsed(value)


def flag_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(one: Field[Any]) -> Option:
    assert DECLARED in one.metadata and one.default is not MISSING, f"{one.name} is declared with option(...)"
    return Option(one.name, **one.metadata[DECLARED])


def _cut(text: str, longest: int = 80) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
