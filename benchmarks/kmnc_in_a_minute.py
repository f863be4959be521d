"""How much of KMNC (k = 1000) DeepHunter's loop covers in a minute on its authors' LeNets, beside the paper's 24 hours.

Shares are of all neurons, constant ones included, as the paper counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bare_pass import torch_threads
from bench.command import run_script
from bench.rows import Beside, Figures, Row, at_least
from deephunter_runs import fuzz
from jostle.campaign import Budget
from paper.neuron_shares import percent
from paper.preys import prey_of, seeds_of
from paper.table import Data

SEEDS = 5
SECONDS = 60
PER_CLASS = 100
BARS = {"lenet1": 97.0, "lenet4": 85.0, "lenet5": 88.0}  # per cent
TABLE_4 = {"lenet1": 92.2, "lenet4": 75.9, "lenet5": 78.4}  # of the paper, after 24 hours on a V100


def covered(name: str, data: Data, seconds: int, seed: int) -> float:
    """Per cent of all sections of all neurons."""
    prey, seeds = prey_of(name, data), seeds_of(name, data, PER_CLASS, seed)
    summary, _ = fuzz(prey.model, seeds, prey.profile, prey.layers, ("kmnc",), Budget(seconds=seconds), seed)
    return percent("kmnc", summary.coverage["kmnc"], [size for _, size in prey.profile.layers])


def measure(data: Data) -> Iterator[Row]:
    seconds = data.budget(SECONDS, 1)
    whose = "the authors'" if data.folder else "our own"
    with torch_threads(1):
        for name in data.some(BARS):
            shares = tuple(covered(name, data, seconds, seed) for seed in data.some(range(SEEDS)))
            seeds = len(seeds_of(name, data, PER_CLASS, seed=0))
            yield Row(
                f"deephunter, `kmnc`, {whose} LeNet-{name[-1]}, {seeds:,} seeds, one thread, all written to disk: "
                "covered",
                Figures(shares, ".1f", " %"),
                f"{seconds} s",
                at_least(BARS[name]) if data.folder else None,
                Beside("the paper's Table 4", Figures((TABLE_4[name],), ".1f", " %")),
            )


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
