"""Names that users type."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from jostle.errors import UsageError


def chosen(option: str, name: str, names: Iterable[str]) -> str:
    """The name, if it is one of these."""
    names = list(names)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"
        raise UsageError(f"{option} {name!r} is unknown: {hint}")
    return name
