"""Names that users type, and the nearest one where there is no such name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from jostle.errors import UsageError

MANY = 20  # names, more than which are not told at once


def chosen(option: str, name: str, names: Iterable[str]) -> str:
    """The name, if it is one of these."""
    names = list(names)
    if name not in names:
        raise UsageError(f"{option} {unknown(name, names)}")
    return name


def unknown(name: str, names: Iterable[str]) -> str:
    """What to say of a name that is none of these: the nearest one, or all."""
    names = list(names)
    near = nearest(name, names)
    more = f", … ({len(names)} in all)" if len(names) > MANY else ""
    hint = f"did you mean {near}?" if near else f"choose from {', '.join(names[:MANY])}{more}"
    return f"{name!r} is unknown: {hint}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    return next(iter(difflib.get_close_matches(name, list(names), n=1)), None)
