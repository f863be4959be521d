"""DeepHunter's whole loop with default settings beside the bare forward pass, on LeNet-5, in one run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from bare_pass import best_rate, between, forward_rate, mutants, torch_threads
from bench.command import run_script
from bench.rows import Row, at_least, ratio_row
from jostle.mutators.metamorphic import Metamorphic
from jostle.records import Seeds
from jostle.zoo import lenet5, mnist_sample
from paper.table import Data
from sessions import fuzz_rate

SEEDS = 5
EXECUTIONS = 40_000
BARS = {"kmnc": at_least(0.6, aim=0.75), "nc": at_least(0.6), "nbc": at_least(0.6), "tknc": at_least(0.6)}
THREADS = {1: "one thread", 2: "two threads"}


def measure(data: Data) -> Iterator[Row]:
    executions = data.budget(EXECUTIONS, 800)
    images, labels = mnist_sample()
    inputs = mutants(Metamorphic(0, 1), Seeds(images, labels, ("",) * len(labels)))
    bare = partial(best_rate, forward_rate, lenet5(), inputs, executions)
    for threads, told in data.some(THREADS.items()):
        with torch_threads(threads):
            for coverage, bar in BARS.items():
                loop = partial(
                    fuzz_rate, recipe="deephunter", coverage=(coverage,), executions=executions, threads=threads
                )
                pairs = [between(partial(loop, seed=seed), bare) for seed in data.some(range(SEEDS))]
                yield ratio_row(
                    f"deephunter, `{coverage}`, LeNet-5, {told}, all written to disk: loop / bare forward pass",
                    pairs,
                    "bare pass",
                    f"{executions:,} executions",
                    bar,
                )


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
