"""Runs of pytest within pytest that leave libraries as they are, because many of them cannot be imported twice."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from fuzzed_suites import libraries


@pytest.fixture
def imported() -> Iterator[dict[str, ModuleType]]:
    """What a test imported; it stays, though pytester forgets it."""
    modules: dict[str, ModuleType] = {}
    yield modules
    for name, module in modules.items():
        sys.modules.setdefault(name, module)


@pytest.fixture
def pytester(imported: dict[str, ModuleType], pytester: pytest.Pytester) -> Iterator[pytest.Pytester]:
    yield pytester
    imported.update(libraries(pytester))
