"""Strategies that choose edits, each beside chance: what they reach per second of processor time, over several seeds.

Counted are steps of inconsistency (over all operators and pairs of backends, with those of the models to begin from),
parts of libraries and distinct defects. The time is ours and that of all backends. No model is swept, so that edits
alone are compared; the models to begin from take the same time in all runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.command import run_script
from bench.rows import Row, ratio_row
from jostle.commands.run_statistics import ranked
from jostle.frameworks.campaign.feedback import INCONSISTENCY
from jostle.frameworks.strategies.all_strategies import EDIT_STRATEGIES
from jostle.records import LIBRARY
from paper.table import Data
from sessions import frameworks_session

SEEDS = 5
EXECUTIONS = 1_000
BACKENDS = "onnxruntime,torch"
CHANCE = "random"
BEGIN_FROM = "mlp,cnn,residual,attention"  # few, so that most models are edited ones


@dataclass(frozen=True)
class Reached:
    """What one campaign came to, per second of processor time."""

    inconsistency: float
    parts: float
    defects: float


FIGURES = {
    "inconsistency": "steps of inconsistency",
    "parts": "parts of libraries",
    "defects": "distinct defects",
}


def run(strategy: str, executions: int, seed: int) -> Reached:
    options = {"backends": BACKENDS, "executions": executions, "strategy": strategy, "seed": seed, "sweep": 0.0}
    with frameworks_session(models=BEGIN_FROM, **options) as session:
        started = time.process_time()
        summary = session.search()
        own = time.process_time() - started
    seconds = own + sum(summary.executions / rate for rate in summary.rates.values())
    steps, parts = summary.coverage[INCONSISTENCY]["steps"], summary.coverage[LIBRARY]["parts"]
    return Reached(steps / seconds, parts / seconds, sum(summary.findings.values()) / seconds)


def rows_of(strategy: str, runs: Sequence[Reached], by_chance: Sequence[Reached], budget: str) -> Iterator[Row]:
    """What a strategy reached as a share of what chance did with the same seed."""
    for name, told in FIGURES.items():
        ours, theirs = ([getattr(one, name) for one in some] for some in (runs, by_chance))
        if all(theirs):
            test = ranked(ours, theirs)
            claim = f"{strategy} / {CHANCE}: {told} per second of processor time ({test.verdict}, p = {test.p:.3f})"
            pairs = list(zip(ours, theirs, strict=True))
            yield ratio_row(claim, pairs, CHANCE, budget, beside_form=",.2f")


def measure(data: Data) -> Iterator[Row]:
    executions, seeds = data.budget(EXECUTIONS, 30), data.some(range(SEEDS))
    budget = f"{executions:,} models"
    by_chance = [run(CHANCE, executions, seed) for seed in seeds]
    for strategy in data.some([name for name in EDIT_STRATEGIES if name != CHANCE]):
        yield from rows_of(strategy, [run(strategy, executions, seed) for seed in seeds], by_chance, budget)


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
