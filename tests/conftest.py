"""Fixtures that several folders share; makers of records stand in making.py, importable because this file is here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def repeatable() -> Iterator[None]:
    """The same weights in every run, whichever tests are chosen, and sums that no thread reorders."""
    torch.manual_seed(0)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)
