"""Campaigns that several of DeepHunter's tables are written of: each is run once, and its result tells all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paper.deephunter_published import CRITERIA
from paper.hunts import Coverage, Hunt, hunt
from paper.neuron_shares import percent, percent_by_rank
from paper.other_instances import accuracy, quantised_unlike
from paper.preys import Prey, prey_of, seeds_of
from paper.strategies import strategy_named
from paper.table import Cell, Data, Result

HUNTS = "deephunter-hunts-1"  # what results are kept under; another number once they no longer count
SEEDS_OF_RANDOMNESS = 5


@dataclass(frozen=True)
class Budget:
    """What a campaign on a subject may take."""

    executions: int
    per_class: int  # seeds
    rate: float  # executions a second on one core, making, running, judging and evaluating


BUDGETS = {
    "lenet1": Budget(30_000, 100, 3_000),
    "lenet4": Budget(30_000, 100, 3_000),
    "lenet5": Budget(30_000, 100, 3_000),
    "resnet20": Budget(3_000, 100, 200),
    "vgg": Budget(3_000, 100, 200),
}
QUICK = Budget(300, 10, 100)


def hunt_cells(data: Data, subjects: Sequence[str], strategies: Sequence[str], measured: Sequence[str] = ()) -> list[Cell]:
    """A campaign for each subject, strategy and seed of randomness."""
    return [
        hunt_cell(data, subject, strategy, seed, measured)
        for subject in subjects
        for strategy in strategies
        for seed in data.seeds(SEEDS_OF_RANDOMNESS)
    ]


def results_of(results: Mapping[str, Result], subject: str, strategy: str) -> list[Result]:
    """What was measured of a strategy on a subject, one result for each seed of randomness, in their order."""
    start = f"{subject}/{strategy}/seed"
    seeds = {int(name.removeprefix(start)): result for name, result in results.items() if name.startswith(start)}
    return [seeds[seed] for seed in sorted(seeds)]
