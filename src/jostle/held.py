"""Python objects that a script hands over where a command line has names: `jostle.held:NAME`, while it holds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from jostle.errors import JostleError, UsageError

PREFIX = f"{__name__}:"
_held: ContextVar[Mapping[str, object]] = ContextVar("held")


@contextmanager
def holding() -> Iterator[Holder]:
    """For as long as this lasts, what the holder is given can be found by the name that it gives.

    Errors that leave it say the names as a person reads them.
    """
    objects: dict[str, object] = {}
    before = _held.set(objects)
    try:
        yield Holder(objects)
    except JostleError as error:
        error.args = tuple(str(part).replace(PREFIX, "") for part in error.args)
        raise
    finally:
        _held.reset(before)


class Holder:
    """Gives objects names, the same in every run that hands over the same things in the same order."""

    def __init__(self, objects: dict[str, object]):
        self._objects = objects

    def hold(self, found: object, called: str | None = None) -> str:
        """A name for the object, made from what it is called or is."""
        known = getattr(found, "__name__", None) or type(found).__name__
        plain = re.sub(r"\W", "_", called or known) or "object"
        name, number = plain, 1
        while name in self._objects and self._objects[name] is not found:
            number += 1
            name = f"{plain}_{number}"
        self._objects[name] = found
        return f"{PREFIX}{name}"


def is_held(spec: str) -> bool:
    """True of a name that stands for an object that a script holds now."""
    return was_held(spec) and shown_name(spec) in _held.get({})


def was_held(spec: str) -> bool:
    """True of a name that stands for an object of a script, whether or not one holds it now."""
    return spec.startswith(PREFIX)


def shown_name(spec: str) -> str:
    """The name as a person reads it."""
    return spec.removeprefix(PREFIX)


def held_object(spec: str) -> object:
    """The object of this name; refused where no script holds it now."""
    name = shown_name(spec)
    objects = _held.get({})
    if name not in objects:
        raise UsageError(f"{name} was an object of a script: give what stands for it, as FILE.py:function or a file")
    return objects[name]
