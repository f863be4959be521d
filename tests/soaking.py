"""How often tests repeat what they try at random: a few times, or many with JOSTLE_SOAK=1 (`make soak`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

SOAKING = os.environ.get("JOSTLE_SOAK") == "1"


def times(short: int, full: int) -> int:
    return full if SOAKING else short


Count = Callable[[str, object], None]  # the fixture record_property: what `make soak` sums over all tests


def only_in_soak(test: Callable[..., Any]) -> Any:
    """A test that is too long for every day, because others look at most of the same."""
    return pytest.mark.soak(pytest.mark.skipif(not SOAKING, reason="long: make soak runs it")(test))
