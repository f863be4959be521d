"""Every lowering by the name that users type."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from jostle.errors import UsageError
from jostle.frameworks.lowerings.program import Lowering

LOWERINGS: Mapping[str, Lowering] = {}


def lowering_named(name: str) -> Lowering:
    if name not in LOWERINGS:
        near = difflib.get_close_matches(name, LOWERINGS, n=1)
        hint = f", did you mean {near[0]!r}?" if near else f": choose among {', '.join(LOWERINGS)}"
        raise UsageError(f"there is no backend {name!r}{hint}")
    return LOWERINGS[name]
