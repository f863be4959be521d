"""What writing everything down costs: campaigns with their archive beside the same without, on LeNet-5, in one run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch

from sessions import fuzz_session
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
    with fuzz_session(executions=EXECUTIONS, seed=seed, **choices) as session:
        started = time.perf_counter()
        if archived:
            session.search()
            session.archive.wait()  # what is still to be written costs too
        else:
            session.campaign.run()
        return time.perf_counter() - started


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
