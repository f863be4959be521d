"""The whole loop beside the bare forward pass on LeNet-5, one thread, in one run."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import torch
from jostle.config import Settings

from jostle import Noise, Seeds
from jostle.session.assemble import assemble
from jostle.zoo import lenet5, mnist_sample
from spread import spread

SEEDS = 10
EXECUTIONS = 40_000
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


def loop_rate(settings: Settings) -> float:
    """Executions per second of a campaign as `jostle fuzz` runs it, with everything written to disk."""
    campaign = assemble(settings).campaign
    summary = campaign.run()
    return summary.executions / summary.seconds


def ratio(coverage: str, seed: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            model="jostle.zoo:lenet5",
            seeds="jostle.zoo:mnist_sample",
            coverage=(coverage,),
            executions=EXECUTIONS,
            seed=seed,
            out=str(Path(folder) / "campaign"),
        )
        before, loop, after = bare_rate(settings.batch), loop_rate(settings), bare_rate(settings.batch)
    return loop / ((before + after) / 2)


def main() -> None:
    torch.set_num_threads(1)
    print(f"LeNet-5, {EXECUTIONS:,} executions, {SEEDS} seeds, one thread; ratio loop / bare forward pass (bar {BAR})")
    for coverage in ("nearest", "magnitude"):
        print(f"  {coverage}: {spread([ratio(coverage, seed) for seed in range(SEEDS)], '.2f')}")


if __name__ == "__main__":
    main()
