"""Every recipe with one thread, with two and with the number that it takes by default, idle and beside busy loops.

The campaigns are commands in processes of their own, because a library chooses its threads when it is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from bare_pass import best_rate, between, forward_rate, mutants, torch_threads
from bench.command import run_script
from bench.rows import Row, at_least, ratio_row
from jostle import Noise, Seeds
from jostle.recipes.all_recipes import RECIPES
from jostle.zoo import lenet5, mnist_sample
from jostle_command import fuzz_summary
from paper.table import Data

SEEDS = 5
EXECUTIONS = 20_000
BAR = at_least(1.0)
LENET5 = ("jostle.zoo:lenet5", "--seeds", "jostle.zoo:mnist_sample")
MORE = {"deepxplore": ("--models", "jostle.zoo:lenet4")}
UNFINISHED = ("--no-confirm", "--no-minimise")  # which comes after the loop
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"


@contextmanager
def busy_machine() -> Iterator[None]:
    """A loop for each core that does nothing but take its time; they end with the block, or with this process."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextmanager
def idle_machine() -> Iterator[None]:
    """As idle as whoever measures left it."""
    yield


MACHINES = {"idle machine": idle_machine, "a busy loop on every core": busy_machine}


@dataclass(frozen=True)
class Rates:
    """Executions per second of one campaign, by the number of threads."""

    one: float  # the mean of a run before the others and one after them: the machine changes its pace
    two: float
    by_default: float


def rates(recipe: str, executions: int, seed: int) -> Rates:
    before, two, by_default, after = (loop_rate(recipe, executions, seed, threads) for threads in (1, 2, None, 1))
    return Rates((before + after) / 2, two, by_default)


def loop_rate(recipe: str, executions: int, seed: int, threads: int | None) -> float:
    """Executions per second of `jostle fuzz`, everything written to disk; None leaves the number of threads open."""
    numbers = ("--executions", str(executions), "--seed", str(seed))
    summary = fuzz_summary((*LENET5, "--recipe", recipe, *MORE.get(recipe, ()), *numbers, *UNFINISHED), threads)
    return float(summary["executions"] / summary["seconds"])


def recipe_rows(recipe: str, machine: str, executions: int, seeds: Sequence[int]) -> Iterator[Row]:
    runs = [rates(recipe, executions, seed) for seed in seeds]
    for told, pairs in (
        ("two threads", [(run.two, run.one) for run in runs]),
        ("the default number of threads", [(run.by_default, run.one) for run in runs]),
    ):
        claim = f"{recipe}, LeNet-5, {machine}: {told} / one"
        yield ratio_row(claim, pairs, "one thread", f"{executions:,} executions", BAR)


def bare_row(machine: str, executions: int, seeds: Sequence[int]) -> Row:
    """What a second thread does to the forward pass alone."""
    images, labels = mnist_sample()
    inputs = mutants(Noise(sigma=0.1, low=0, high=1), Seeds(images, labels, ("",) * len(labels)))

    def rate(threads: int) -> float:
        with torch_threads(threads):
            return best_rate(forward_rate, lenet5(), inputs, executions)

    pairs = [between(partial(rate, 2), partial(rate, 1)) for _ in seeds]
    claim = f"the bare forward pass of LeNet-5, {machine}: two threads / one"
    return ratio_row(claim, pairs, "one thread", f"{executions:,} executions")


def measure(data: Data) -> Iterator[Row]:
    executions, seeds = data.budget(EXECUTIONS, 600), data.some(range(SEEDS))
    for machine, made in MACHINES.items():
        with made():
            yield bare_row(machine, executions, seeds)
            for recipe in data.some(RECIPES):
                yield from recipe_rows(recipe, machine, executions, seeds)


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
