"""All options that a command takes, and settings made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from jostle.errors import UsageError
from jostle.options.choices import nearest
from jostle.options.declaration import Facts, Option, options_of

Group = TypeVar("Group")


@dataclass(frozen=True)
class Given:
    """What a user chose, in its own types; whatever is not there was left open."""

    values: Mapping[str, Any]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def of(self, group: type[Group]) -> Group:
        """The options of one dataclass, with its constant defaults where nothing was chosen."""
        return group(**{name: self.values[name] for name in options_of(group) if name in self.values})

    def texts(self, name: str) -> tuple[str, ...]:
        """What one option names, of which there may be several."""
        value = self.values.get(name) or ()
        return (value,) if isinstance(value, str) else tuple(value)

    def over(self, **changes: Any) -> Given:
        """The same with other choices; None leaves one open."""
        return Given({name: value for name, value in {**self.values, **changes}.items() if value is not None})


NOTHING_ELSE = Given({})


class Settings:
    """Options with nothing left open: `settings[NoiseOptions].sigma`."""

    def __init__(self, groups: Mapping[type, Any], given: Given, in_effect: Mapping[str, Option]):
        self._groups, self.given, self._in_effect = groups, given, in_effect

    def __getitem__(self, group: type[Group]) -> Group:
        found: Group = self._groups[group]
        return found

    def over(self, options: Any) -> Settings:
        """The same with other options of one dataclass."""
        return Settings({**self._groups, type(options): options}, self.given, self._in_effect)

    @cached_property
    def values(self) -> dict[str, Any]:
        """Every option that something reads, as JSON gives it back."""
        held = {name: value for group in self._groups.values() for name, value in vars(group).items()}
        values: dict[str, Any] = json.loads(json.dumps({name: held[name] for name in self._in_effect}))
        return values

    def fixed(self) -> dict[str, Any]:
        """The options that may not change between two runs of one campaign."""
        return {name: value for name, value in self.values.items() if not self._in_effect[name].may_change}

    def changeable(self) -> dict[str, Any]:
        """The options that may."""
        return {name: value for name, value in self.values.items() if self._in_effect[name].may_change}

    def named_files(self) -> list[str]:
        """What options name that may be a file or Python in one."""
        named = [self.values[name] for name, option in self._in_effect.items() if option.names_file]
        return [text for value in named for text in (value if isinstance(value, list) else [value]) if text]


class Schema:
    """The options of one command, by name and by the dataclass that declares them."""

    def __init__(self, *groups: type):
        self.groups = groups
        self.options: dict[str, Option] = {}
        for group in groups:
            for name, option in options_of(group).items():
                assert name not in self.options, f"{name} is declared twice"
                self.options[name] = option

    def parsed(self, values: Mapping[str, Any]) -> Given:
        """Values of a script, of JSON or of TOML, each in its own type; None and an empty list are left open."""
        for name in values:
            self._known(name)
        chosen = {name: value for name, value in values.items() if not self._left_open(name, value)}
        return Given({name: self.options[name].parsed(value) for name, value in chosen.items()})

    def _left_open(self, name: str, value: Any) -> bool:
        return value is None or (self.options[name].default == () and value in ((), []))

    def read(self, flags: Mapping[str, Any]) -> dict[str, Any]:
        """What texts of flags say, as TOML would; those that were not given are left out."""
        return {
            name: self.options[name].kind.read(value) if isinstance(value, str) else value
            for name, value in flags.items()
            if value is not None
        }

    def renamed(self, values: Mapping[str, Any], where: str, tables: Iterable[str] = ()) -> dict[str, Any]:
        """Keys of a file as options are named; one that is unknown is refused, with the nearest option or table."""
        renamed = {key.replace("-", "_"): value for key, value in values.items()}
        for key in renamed:
            self._known(key, where, tables)
        return renamed

    def settled(self, given: Given, chosen: Mapping[str, Any], facts: Facts, unused: set[type]) -> Settings:
        """What the user gave, over what a recipe chose, over defaults; groups that no part reads are not in effect."""
        groups = {}
        for group in self.groups:
            defaults = {name: option.settled(facts) for name, option in options_of(group).items()}
            values = {name: given.get(name, chosen.get(name, default)) for name, default in defaults.items()}
            groups[group] = group(**values)
        in_effect = {
            name: one for group in self.groups if group not in unused for name, one in options_of(group).items()
        }
        return Settings(groups, given, in_effect)

    def _known(self, name: str, where: str = "", tables: Iterable[str] = ()) -> None:
        if name not in self.options:
            near = nearest(name, [*tables, *self.options])
            hint = f", did you mean {near!r}?" if near else ": remove it"
            raise UsageError(f"{where}{': ' if where else ''}unknown setting {name!r}{hint}")
