"""TensorFuzz's whole loop with default settings beside the bare forward pass, on LeNet-5, one thread, in one run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from bare_pass import best_rate, between, forward_rate, mutants, torch_threads
from bench.command import run_script
from bench.rows import Row, at_least, ratio_row
from jostle import Noise, Seeds
from jostle.zoo import lenet5, mnist_sample
from paper.table import Data
from sessions import fuzz_rate

SEEDS = 5
EXECUTIONS = 40_000
BAR = at_least(0.8)


def measure(data: Data) -> Iterator[Row]:
    executions = data.budget(EXECUTIONS, 800)
    images, labels = mnist_sample()
    inputs = mutants(Noise(sigma=0.1, low=0, high=1), Seeds(images, labels, ("",) * len(labels)))
    bare = partial(best_rate, forward_rate, lenet5(), inputs, executions)
    with torch_threads(1):
        for coverage in data.some(("nearest", "magnitude")):
            loop = partial(fuzz_rate, recipe="tensorfuzz", coverage=(coverage,), executions=executions)
            pairs = [between(partial(loop, seed=seed), bare) for seed in data.some(range(SEEDS))]
            yield ratio_row(
                f"tensorfuzz, `{coverage}`, LeNet-5, one thread, all written to disk: loop / bare forward pass",
                pairs,
                "bare pass",
                f"{executions:,} executions",
                BAR,
            )


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
