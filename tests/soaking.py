"""How often tests repeat what they try at random: a few times, or many with JOSTLE_SOAK=1 (`make soak`)."""

from __future__ import annotations

import os


def times(short: int, full: int) -> int:
    return full if os.environ.get("JOSTLE_SOAK") == "1" else short
