"""Parts by name: ours, those that installed packages add, and a user's own as `FILE.py:name`.

A package adds one by an entry point in the group `jostle.mutators`, `jostle.criteria`, `jostle.oracles` or
`jostle.schedulers`: a `Part`, an object that is such a part, or a class or function that makes one, given nothing or a
`PartContext`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from torch import Generator, Tensor

from jostle.errors import UsageError
from jostle.foreign import Crash, asked, attempt
from jostle.held import shown_name
from jostle.interfaces import JudgesSeeds, Learner
from jostle.mutations import Mutations
from jostle.named_objects import find_object, names_object
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import Candidates, Trace, Verdicts

# What methods of parts return.
RETURNED: Mapping[str, type] = {
    "mutate": Candidates,
    "assess": Tensor,
    "coverage": Mapping,
    "judge": Verdicts,
    "plan": Tensor,
}
Made = TypeVar("Made", covariant=True)


class Parts(Mapping[str, Part[Made]], Generic[Made]):
    """All parts of one kind. Ours come first: no package takes the place of one."""

    def __init__(self, kind: str, group: str, protocol: type, ours: Mapping[str, Part[Made]]):
        """The protocol says what such a part has: its methods, and what else is declared in it."""
        self.kind, self.ours = kind, ours
        self._group = group
        self._methods, self._members = methods_of(protocol), members_of(protocol)

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
        return self._of(shown_name(spec), find_object(spec))

    def is_made_by(self, found: object) -> bool:
        """Whether this is such a part, or says that it makes one."""
        return isinstance(found, Part) or hasattr(found, self._methods[0])

    def __iter__(self) -> Iterator[str]:
        return iter([*self.ours, *self.added])

    def __len__(self) -> int:
        return len(self.ours) + len(self.added)

    def _of(self, spec: str, found: Any) -> Part[Made]:
        if isinstance(found, Crash):
            raise UsageError(f"{spec} cannot be imported ({found.error}: {found.message}): install it again")
        if isinstance(found, Part):
            return replace(found, make=partial(self._made, spec, found.make))
        if not isinstance(found, type) and hasattr(found, self._methods[0]):
            self._refuse_unfit(spec, "is", found)
            return Part(_line(type(found)), partial(self._made, spec, lambda settings, context: found))
        if not callable(found):
            self._refuse_unfit(spec, "is", found)
        return Part(_line(found), partial(self._made, spec, partial(_made_by, found)))

    def _made(
        self, spec: str, make: Callable[[Settings, PartContext], object], settings: Settings, context: PartContext
    ) -> Made:
        made = asked(spec, make, settings, context)
        self._refuse_unfit(spec, "makes", made)
        guarded: Made = _guarded(spec, made, self._members)
        return guarded

    def _refuse_unfit(self, spec: str, does: str, found: object) -> None:
        missing = [name for name in self._members if not hasattr(found, name)]
        if missing:
            needs = [f"a method {name}" if name in self._methods else f"{name} (true or false)" for name in missing]
            raise UsageError(f"{spec} {does} a {type(found).__name__}, no {self.kind}: give it {' and '.join(needs)}")


def methods_of(protocol: type) -> tuple[str, ...]:
    """What an object of this protocol can be asked to do."""
    return tuple(name for name, value in vars(protocol).items() if inspect.isfunction(value) and name[0] != "_")


def members_of(protocol: type) -> tuple[str, ...]:
    """All that an object of this protocol has."""
    return (*methods_of(protocol), *inspect.get_annotations(protocol))


def _made_by(make: Callable[..., object], settings: Settings, context: PartContext) -> object:
    return make(context) if _takes_one(make) else make()


def _guarded(spec: str, part: object, members: tuple[str, ...]) -> Any:
    """The same part, whose methods tell in one line what they raise; only parts that are not ours take this way."""
    optional = (*methods_of(Learner), *methods_of(JudgesSeeds), "looks_at_inputs")
    known = {name: getattr(part, name) for name in (*members, *optional) if hasattr(part, name)}
    calls = {name: partial(_called, spec, name, value) for name, value in known.items() if callable(value)}
    return SimpleNamespace(**{**known, **calls})


def _called(spec: str, name: str, method: Callable[..., object], *given: object) -> object:
    called = f"{spec}: {name}"
    found = asked(called, method, *given)
    wanted = RETURNED.get(name)
    if wanted is not None and not isinstance(found, wanted):
        raise UsageError(f"{called} returned a {type(found).__name__}, and must return a {wanted.__name__}; mend it")
    problem = UNUSABLE[name](found, *given) if name in UNUSABLE else ""
    if problem:
        raise UsageError(f"{called} returned {problem}; mend it")
    if isinstance(found, Verdicts):
        return replace(found, describe=partial(asked, f"{spec}: describe", found.describe))
    return found


def _no_children(children: Candidates, parents: Candidates, rng: Generator) -> str:
    """What is wrong with children, "" where nothing is."""
    if not isinstance(children.mutations, Mutations):
        kind = type(children.mutations).__name__
        return f"a {kind} of mutations, and must return what parents.mutated(inputs, 'name') gives"
    columns = (children.parents, children.roots, children.mutations, children.lineage.rows)
    row, wanted, count = children.inputs.shape[1:], parents.inputs.shape[1:], len(children.roots)
    if row != wanted or any(len(column) != len(children) for column in columns):
        return f"inputs of shape {list(children.inputs.shape)}, and must return {[count, *wanted]}"
    domain = parents.seeds.domain
    outside = None if domain is None else domain.outside(children.inputs)
    return "" if outside is None else f"an input outside of its domain ({outside.problem})"


def _no_gains(gains: Tensor, candidates: Candidates, trace: Trace) -> str:
    return "" if gains.shape == (len(candidates),) else f"{list(gains.shape)} gains for {len(candidates)} inputs"


def _no_plan(ids: Tensor, entries: int, children: int, rng: Generator) -> str:
    inside = not ids.is_floating_point() and bool(((ids >= 0) & (ids < entries)).all())
    return "" if inside else f"ids that are not all whole numbers from 0 to {entries - 1}"


# By method, what is wrong with what it returned.
UNUSABLE: Mapping[str, Callable[..., str]] = {"mutate": _no_children, "assess": _no_gains, "plan": _no_plan}


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
