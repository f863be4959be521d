"""How long a test goes on: briefly in `make test`, fully where JOSTLE_SOAK=1 asks for it."""

from __future__ import annotations

import os


def times(short: int, full: int) -> int:
    return full if os.environ.get("JOSTLE_SOAK") == "1" else short
