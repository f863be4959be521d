"""The loop with the model in a process of its own beside the loop in one process, on LeNet-5, one thread each."""

from __future__ import annotations

import torch

from sessions import fuzz_session
from spread import spread

SEEDS = 5
EXECUTIONS = 40_000
BAR = 0.8
RECIPES = ("tensorfuzz", "deephunter", "dlfuzz")


def rate(recipe: str, seed: int, isolate: bool) -> float:
    """Executions per second of a campaign as `jostle fuzz` runs it, once it has begun."""
    options = {"recipe": recipe, "oracle": ("nan", "crash"), "executions": EXECUTIONS, "seed": seed}
    with fuzz_session(isolate=isolate, **options) as session:
        summary = session.search()
    return summary.executions / summary.seconds


def ratio(recipe: str, seed: int) -> float:
    before, apart, after = (rate(recipe, seed, isolate) for isolate in (False, True, False))
    return apart / ((before + after) / 2)


def main() -> None:
    torch.set_num_threads(1)
    print(f"LeNet-5, {EXECUTIONS:,} executions, {SEEDS} seeds, one thread; ratio isolated / in one process (bar {BAR})")
    for recipe in RECIPES:
        print(f"  {recipe}: {spread([ratio(recipe, seed) for seed in range(SEEDS)], '.2f')}")


if __name__ == "__main__":
    main()
