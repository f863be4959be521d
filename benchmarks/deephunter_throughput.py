"""DeepHunter's whole loop with KMNC (k = 1000) beside the bare forward pass, and as its corpus grows; in one run."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from statistics import mean

import torch
from torch import Tensor, nn

from deephunter_runs import fuzz, profile_of
from jostle import Budget, Seeds, StepRecord
from jostle.mutators.metamorphic import Metamorphic
from jostle.zoo import lenet5, mnist_sample
from resnet50 import photos, resnet50
from spread import spread

EVERY_LAYER = ("*",)


def mutants(seeds: Seeds, count: int) -> Tensor:
    """Inputs as the loop runs them: pooling takes longer on noise than on clean digits."""
    rows = torch.arange(count) % len(seeds)
    return Metamorphic(0, 1).mutate(seeds.as_candidates().select(rows), torch.Generator().manual_seed(0)).inputs


def bare_rate(model: nn.Module, inputs: Tensor, passes: int) -> float:
    """Inputs per second through the network alone, without gradients or hooks."""
    with torch.inference_mode():
        model(inputs)
        started = time.perf_counter()
        for _ in range(passes):
            model(inputs)
    return passes * len(inputs) / (time.perf_counter() - started)


def ratio(make: Sequence[nn.Module], seeds: Seeds, batch: int, executions: int, passes: int, seed: int) -> float:
    """Whole loop / bare forward pass; the first model runs bare, the second is watched."""
    bare, watched = make
    profile = profile_of(watched, seeds.inputs, EVERY_LAYER, batch)
    inputs = mutants(seeds, batch)
    before = bare_rate(bare, inputs, passes)
    budget = Budget(executions=executions)
    summary, _ = fuzz(watched, seeds, profile, EVERY_LAYER, ("kmnc",), budget, seed, batch=batch)
    return summary.executions / summary.seconds / mean((before, bare_rate(bare, inputs, passes)))


def labelled(images: Tensor, model: nn.Module) -> Seeds:
    with torch.no_grad():
        labels = model(images).argmax(1)
    return Seeds(images, labels, ("",) * len(images))


def growth() -> None:
    """Mutants per second in steps of the corpus from 1,000 to 100,000 entries, on one machine in one run."""
    images, labels = mnist_sample()
    seeds = Seeds(images, labels, ("",) * len(labels))
    model = lenet5()
    profile = profile_of(model, images, EVERY_LAYER, 256, units="every")
    marks = [1_000, 3_000, 10_000, 30_000, 100_000]
    seen: list[tuple[int, int, float]] = []  # corpus, executions, seconds

    def note(record: StepRecord) -> None:
        seen.append((record.so_far.corpus, record.so_far.executions, record.so_far.seconds))

    # Every unit of every layer is a neuron, so that nearly every mutant is kept all the way.
    budget = Budget(executions=160_000)
    fuzz(model, seeds, profile, EVERY_LAYER, ("kmnc",), budget, listeners=[note], units="every")
    for mark in marks:
        around = [point for point in seen if mark <= point[0] <= mark * 1.3]
        if len(around) > 1:
            (_, first, start), (corpus, last, end) = around[0], around[-1]
            print(f"  corpus {around[0][0]:,} to {corpus:,}: {(last - first) / (end - start):,.0f} mutants/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["lenet", "resnet", "growth"])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    only, randomness = options.only, range(options.seeds)
    if only in (None, "lenet"):
        torch.set_num_threads(1)
        seeds = labelled(mnist_sample()[0], lenet5())
        for batch in (256, 512):
            ratios = [ratio((lenet5(), lenet5()), seeds, batch, 300_000, 200, seed) for seed in randomness]
            print(f"LeNet-5, one thread, batch {batch}, 300,000 runs: loop / bare {spread(ratios, '.2f')} (bar 0.6)")
    if only in (None, "resnet"):
        torch.set_num_threads(2)
        seeds = labelled(photos(), resnet50())
        ratios = [ratio((resnet50(), resnet50()), seeds, 8, 16 + 15 * 8, 4, seed) for seed in randomness]
        print(f"ResNet-50, 94,056 neurons, two threads, batch 8: loop / bare {spread(ratios, '.2f')} (bar 0.85)")
    if only in (None, "growth"):
        torch.set_num_threads(1)
        print("LeNet-5 as the corpus grows, one thread:")
        growth()


if __name__ == "__main__":
    main()
