"""Parts by name: ours, those that installed packages add, and a user's own as `FILE.py:name`.

A package adds one by an entry point in the group `jostle.mutators`, `jostle.criteria`, `jostle.oracles` or
`jostle.schedulers`: a `Part`, an object that is such a part, or a class or function that makes one, given nothing or a
`PartContext`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from jostle.errors import UsageError
from jostle.foreign import Crash, attempt
from jostle.named_objects import find_object, names_object
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line

Made = TypeVar("Made", covariant=True)


class Parts(Mapping[str, Part[Made]], Generic[Made]):
    """All parts of one kind. Ours come first: no package takes the place of one."""

    def __init__(self, kind: str, group: str, method: str, ours: Mapping[str, Part[Made]]):
        self.kind, self.ours = kind, ours
        self._group, self._method = group, method

    @cached_property
    def added(self) -> dict[str, EntryPoint]:
        """What installed packages add, by name; nothing of it is imported."""
        return {one.name: one for one in entry_points(group=self._group) if one.name not in self.ours}

    def __getitem__(self, name: str) -> Part[Made]:
        if name in self.ours:
            return self.ours[name]
        if name in self.added:
            return self._of(f"{self.kind} {name} of {origin_of(self.added[name])}", attempt(self.added[name].load))
        if names_object(name):
            return self.own(name)
        raise KeyError(name)

    def own(self, spec: str) -> Part[Made]:
        """The part behind `FILE.py:name`."""
        return self._of(spec, find_object(spec))

    def is_made_by(self, found: object) -> bool:
        """Whether this is such a part, or says that it makes one."""
        return isinstance(found, Part) or hasattr(found, self._method)

    def __iter__(self) -> Iterator[str]:
        return iter([*self.ours, *self.added])

    def __len__(self) -> int:
        return len(self.ours) + len(self.added)

    def _of(self, spec: str, found: Any) -> Part[Made]:
        if isinstance(found, Crash):
            raise UsageError(f"{spec} cannot be imported ({found.error}: {found.message}): install it again")
        if isinstance(found, Part):
            return found
        if not isinstance(found, type) and hasattr(found, self._method):
            return Part(_line(type(found)), lambda settings, context: found)
        if not callable(found):
            raise UsageError(f"{spec} is a {type(found).__name__}: a {self.kind} has a method {self._method}")
        return Part(_line(found), partial(self._made, spec, found))

    def _made(self, spec: str, make: Callable[..., Made], settings: Settings, context: PartContext) -> Made:
        made = attempt(partial(make, *([context] if _takes_one(make) else [])))
        if isinstance(made, Crash):
            raise UsageError(f"{spec} raised {made.error} in {made.where}: {made.message}")
        if not hasattr(made, self._method):
            raise UsageError(f"{spec} makes a {type(made).__name__}: a {self.kind} has a method {self._method}")
        return made


def origin_of(added: EntryPoint) -> str:
    """The package that adds a part."""
    return "an installed package" if added.dist is None else f"{added.dist.name} {added.dist.version}"


def _line(described: object) -> str:
    return first_line(described) if described.__doc__ else "A part of your own."


def _takes_one(make: Callable[..., Any]) -> bool:
    """Whether it must be given something."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except ValueError:
        return False
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(one.default is one.empty and one.kind not in variable for one in parameters)
