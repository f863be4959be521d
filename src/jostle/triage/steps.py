"""The operations on the way from a seed to a finding, read from their texts: a name, mostly with a size."""

from __future__ import annotations

import math
import re

SIZE = re.compile(r"(?<=\s)-?\d+(\.\d+)?([eE][-+]?\d+)?(?=\s|$)")


def size_of(operation: str) -> float | None:
    """The number in the text of an operation: 11.3 of "rotation 11.3", -3 of "gain -3 dB"."""
    found = SIZE.search(operation)
    if found is None:
        return None
    size = float(found[0])
    return size if math.isfinite(size) else None
