"""What writing everything down costs: campaigns with their archive beside the same without, on LeNet-5, in one run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from jostle.config import Settings
from jostle.session.assemble import assemble
from jostle.storage.archive import Archive
from spread import spread

SEEDS = 5
EXECUTIONS = 40_000
BAR = 1.05
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "tensorfuzz": {"coverage": ("nearest",)},
    "tensorfuzz, flipped labels": {"coverage": ("nearest",), "oracle": ("flip",), "radius": 0.3},
    "deephunter": {"recipe": "deephunter"},
}


def seconds(choices: Mapping[str, Any], seed: int, archived: bool) -> float:
    """How long the loop takes; without its archive, the campaign does the same and nothing is written."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            model="jostle.zoo:lenet5",
            seeds="jostle.zoo:mnist_sample",
            executions=EXECUTIONS,
            seed=seed,
            out=str(Path(folder) / "campaign"),
            **choices,
        )
        assembled = assemble(settings)
        with nullcontext() if archived else patch.object(Archive, "__call__", lambda archive, record: None):
            started = time.perf_counter()
            assembled.campaign.run()
            assembled.archive._background.wait()  # what is still to be written costs too
            taken = time.perf_counter() - started
        assembled.release()
        return taken


def ratio(choices: Mapping[str, Any], seed: int) -> float:
    """Archived over unarchived, each between the other's runs, because the machine changes its pace."""
    first, archived, last = (seconds(choices, seed, kept) for kept in (False, True, False))
    return archived / ((first + last) / 2)


def main() -> None:
    torch.set_num_threads(1)
    print(f"LeNet-5, {EXECUTIONS:,} executions, {SEEDS} seeds, one thread for the loop and one for writing")
    print(f"time with archive / without (bar {BAR})")
    for name, choices in RECIPES.items():
        print(f"  {name}: {spread([ratio(choices, seed) for seed in range(SEEDS)], '.3f')}")


if __name__ == "__main__":
    main()
