"""Every script of `make bench` that writes a block of the page works, with tiny budgets; no figure is judged."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from paper.table import Data
from soaking import only_in_soak

SHORT = ("throughput", "deephunter_throughput", "dlfuzz_throughput", "durability", "kmnc_in_a_minute", "memory")
# Which start processes that import torch, or run a network of ResNet-50's size.
LONG = (
    "isolation",
    "crashing_model",
    "startup",
    "threads",
    "resnet50_throughput",
    "neuron_choice_cost",
    "workers",
    "frameworks_strategies",
)


def check(name: str) -> None:
    """Its rows have figures, and each a claim of its own."""
    rows = list(importlib.import_module(name).measure(Data(quick=True)))
    values = [value for row in rows for value in row.here.values]
    assert values and all(map(math.isfinite, values))
    assert len({row.claim for row in rows}) == len(rows)


@pytest.fixture(autouse=True)
def nothing_kept_in_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of the papers' networks, which cells and scripts share."""
    monkeypatch.setattr("paper.preys.KNOWN", tmp_path / "known")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_a_script_measures(name: str) -> None:
    check(name)


@only_in_soak
@pytest.mark.parametrize("name", LONG)
def test_a_script_that_takes_longer_measures(name: str) -> None:
    check(name)
