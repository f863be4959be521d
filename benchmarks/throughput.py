"""The whole loop beside the bare forward pass on LeNet-5, one thread, in one run."""

from __future__ import annotations

import time

import torch

from jostle import Noise, Seeds
from jostle.zoo import lenet5, mnist_sample
from sessions import fuzz_session
from spread import spread

SEEDS = 10
EXECUTIONS = 40_000
BATCH = 256
BAR = 0.6


def bare_rate(batch: int) -> float:
    """Inputs per second through the network alone, without gradients or hooks."""
    model, (images, labels) = lenet5(), mnist_sample()
    seeds = Seeds(images, labels, ("",) * len(labels)).as_candidates().select(torch.arange(batch))
    # Mutants, as the loop runs them: pooling takes longer on noise than on clean digits.
    inputs = Noise(sigma=0.1, low=0, high=1).mutate(seeds, torch.Generator().manual_seed(0)).inputs
    with torch.inference_mode():
        model(inputs)
        started = time.perf_counter()
        for _ in range(EXECUTIONS // batch):
            model(inputs)
    return EXECUTIONS // batch * batch / (time.perf_counter() - started)


def loop_rate(coverage: str, seed: int) -> float:
    """Executions per second of a campaign as `jostle fuzz` runs it, with everything written to disk."""
    with fuzz_session(coverage=(coverage,), executions=EXECUTIONS, seed=seed, batch=BATCH) as session:
        summary = session.search()
    return summary.executions / summary.seconds


def ratio(coverage: str, seed: int) -> float:
    before, loop, after = bare_rate(BATCH), loop_rate(coverage, seed), bare_rate(BATCH)
    return loop / ((before + after) / 2)


def main() -> None:
    torch.set_num_threads(1)
    print(f"LeNet-5, {EXECUTIONS:,} executions, {SEEDS} seeds, one thread; ratio loop / bare forward pass (bar {BAR})")
    for coverage in ("nearest", "magnitude"):
        print(f"  {coverage}: {spread([ratio(coverage, seed) for seed in range(SEEDS)], '.2f')}")


if __name__ == "__main__":
    main()
