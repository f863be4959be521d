"""The loop with the model in a process of its own beside the loop in one process, on LeNet-5, one thread each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from bare_pass import between, torch_threads
from bench.command import run_script
from bench.rows import Row, at_least, ratio_row
from paper.table import Data
from sessions import fuzz_rate

SEEDS = 5
EXECUTIONS = 40_000
BAR = at_least(0.95)
RECIPES = ("tensorfuzz", "deephunter", "dlfuzz")


def measure(data: Data) -> Iterator[Row]:
    executions = data.budget(EXECUTIONS, 800)
    options = {"oracle": ("nan", "crash"), "executions": executions}
    with torch_threads(1):
        for recipe in data.some(RECIPES):
            loop = partial(fuzz_rate, recipe=recipe, **options)
            pairs = [
                between(partial(loop, seed=seed, isolate=True), partial(loop, seed=seed, isolate=False))
                for seed in data.some(range(SEEDS))
            ]
            yield ratio_row(
                f"{recipe}, LeNet-5, one thread: executions per second, isolated / in one process",
                pairs,
                "in one process",
                f"{executions:,} executions",
                BAR,
            )


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
