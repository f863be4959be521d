"""Adversarial inputs per second over 1,000 images, and mutants as a share of bare forward and backward passes.

DLFuzz's own code makes 0.5 adversarial inputs and 3 mutants per second on these networks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from bare_pass import best_rate, forward_and_backward_rate, torch_threads
from bench.command import run_script
from bench.rows import Bar, Beside, Figures, Row, at_least, ratio_row
from deepxplore_lenets import counted_layers, network
from dlfuzz_runs import Run, fuzz
from jostle.campaign import Budget
from mnist_data import held_out_images
from paper.table import Data

SEEDS = 5
SECONDS = 12
THREADS = 2
IMAGES = 1000
BARE = 20_000  # inputs of bare passes
NAMES = {"lenet5": "LeNet-5", "lenet4": "LeNet-4", "lenet1": "LeNet-1"}
WAYS = {True: "all written to disk", False: "in memory"}
SHARE = at_least(0.55)
ADVERSARIAL = at_least(2 * 628)  # twice what LeNet-5 gave before


@dataclass(frozen=True)
class Timed:
    """A campaign, and bare forward and backward passes per second around it."""

    run: Run
    bare: float

    @property
    def seeds(self) -> int:
        return len(self.run.adversarial.seeds)

    @property
    def mutants_rate(self) -> float:
        return (self.run.summary.executions - self.seeds) / self.run.seconds

    @property
    def adversarial_rate(self) -> float:
        return len(self.run.adversarial) / self.run.seconds

    @property
    def flipped(self) -> float:
        """Per cent of the seeds."""
        return 100 * len(self.run.adversarial.roots.unique()) / self.seeds


def timed(name: str, data: Data, archived: bool, seconds: int, seed: int) -> Timed:
    images, labels, _ = held_out_images(data.folder)
    images, labels = images[:IMAGES], labels[:IMAGES]
    model = network(name, data.folder)
    bare = partial(best_rate, forward_and_backward_rate, model, images, data.budget(BARE, 1))
    options = {"layers": counted_layers(name), "budget": Budget(seconds=seconds), "minimise": False, "seed": seed}
    before = bare()
    run = fuzz(model, images, labels, measured=False, archived=archived, **options)
    return Timed(run, (before + bare()) / 2)


def rows(claim: str, runs: Sequence[Timed], budget: str, share: Bar | None, adversarial: Bar | None) -> Iterator[Row]:
    pairs = [(run.mutants_rate, run.bare) for run in runs]
    yield ratio_row(f"{claim}: mutants / bare forward and backward passes", pairs, "bare passes", budget, share)
    yield Row(
        f"{claim}: adversarial inputs per second",
        Figures(tuple(run.adversarial_rate for run in runs), ",.0f", "/s"),
        budget,
        adversarial,
        Beside("images flipped:", Figures(tuple(run.flipped for run in runs), ".1f", " %")),
    )


def measure(data: Data) -> Iterator[Row]:
    seconds, whose = data.budget(SECONDS, 1), "the authors'" if data.folder else "our own"
    threads = data.budget(THREADS, 1)
    with torch_threads(threads):
        for name, told in data.some(NAMES.items()):
            for archived, way in data.some(WAYS.items()):
                runs = [timed(name, data, archived, seconds, seed) for seed in data.some(range(SEEDS))]
                claim = f"dlfuzz, {whose} {told}, {runs[0].seeds:,} images, {threads} threads, {way}"
                bars = (SHARE, ADVERSARIAL if name == "lenet5" else None) if archived else (None, None)
                yield from rows(claim, runs, f"{seconds} s", *bars)


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
