"""How much smaller are findings once they are minimised?

LeNet-5 on 200 MNIST digits, 4,000 executions with each of several seeds: noise (random, tensorfuzz) and image
transformations (deephunter). The norm is the distance from what an input is compared with: the seed, moved as the input
is. Inputs that were moved and nothing else have none; of those, the parameter of the move is compared, and of all the
distance from the seed itself.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from jostle.composition.settle import FUZZ
from jostle.lineage import Mutation
from jostle.mutators.replaying import NEUTRAL, Transformation
from jostle.session.assemble import assemble
from jostle.storage.ancestry import Ancestry
from jostle.storage.finding_record import FinishedArray
from jostle.storage.findings import FINDINGS, MINIMISED, array_in, recorded
from jostle.zoo import mnist_sample
from spread import spread

SEEDS = (0, 1, 2)
ROUNDING = 1e-6  # relative distance that is none
FINISHING = "10m"
CAMPAIGNS: dict[str, dict[str, Any]] = {
    "random (noise)": {"recipe": "random", "sigma": 0.4, "radius": 1.0, "oracle": ("flip",)},
    "tensorfuzz (noise)": {"recipe": "tensorfuzz", "sigma": 0.2, "radius": 0.8, "oracle": ("flip",)},
    "deephunter (transformations)": {"recipe": "deephunter", "oracle": ("flip",)},
    "deephunter, paper's ranges": {"recipe": "deephunter", "ranges": "paper", "oracle": ("flip",)},
}


@dataclass(frozen=True)
class Minimised:
    """What minimising made of one finding."""

    norm: float | None  # after to before; None where nothing but a move was there before
    move: float | None  # the parameter of the only move, after to before
    from_seed: float  # after to before
    left: int | None  # steps, None where the way could not be gone again


def minimised_in(folder: Path) -> list[Minimised]:
    """Of all findings in a campaign's folder that are no seeds."""
    ancestry, found = Ancestry.of(folder), []
    for place, record in recorded(folder / FINDINGS):
        done = record.finished
        if isinstance(done, FinishedArray) and done.minimised is not None and ancestry.steps(record):
            norm = done.minimised.euclidean / done.change.euclidean if done.change.relative > ROUNDING else None
            steps = ancestry.steps(record)
            move = None if norm is not None or not done.steps else _parameter(done.steps) / _parameter(steps)
            found.append(Minimised(norm, move, from_seed(place), None if done.steps is None else len(done.steps)))
    return found


def _parameter(steps: tuple[Mutation, ...]) -> float:
    """How far the last step goes."""
    step = Transformation.of(steps[-1])
    assert step is not None
    return step.parameter - NEUTRAL[step.name]


def from_seed(place: Path) -> float:
    arrays = {name: array_in(place, name) for name in ("seed", "reference", "input", MINIMISED)}
    seed = arrays["reference"] if arrays["seed"] is None else arrays["seed"]
    before, after = (float((arrays[name] - seed).norm()) for name in ("input", MINIMISED))  # type: ignore[operator]
    return after / before


def measured(choices: dict[str, Any], folder: Path, seed: int) -> tuple[list[Minimised], float]:
    """One campaign, and the seconds that finishing took."""
    images, labels = mnist_sample()
    np.savez(folder / "digits.npz", x=images[:200].numpy(), y=labels[:200].numpy())
    options = {"model": "jostle.zoo:lenet5", "seeds": str(folder / "digits.npz"), "seed": seed, "executions": 4000}
    options |= {"out": str(folder / "out"), "minimise": True, "confirm": False, "finishing": FINISHING}
    with assemble(FUZZ.parsed({**options, **choices})).closed_after() as session:
        session.archive.conclude(session.search())
        start = time.perf_counter()
        session.finisher.finish()
        took = time.perf_counter() - start
    return minimised_in(folder / "out"), took


def medians(runs: list[list[Minimised]], name: str) -> str:
    """Over seeds, of the medians over the findings of each."""
    known = [[value for one in found if (value := getattr(one, name)) is not None] for found in runs]
    return spread([median(values) for values in known if values], ".2f") + f", {sum(map(len, known))} findings"


def main() -> None:
    torch.set_num_threads(1)
    for name, choices in CAMPAIGNS.items():
        runs, costs = [], []
        for seed in SEEDS:
            with TemporaryDirectory() as folder:
                found, took = measured(choices, Path(folder), seed)
            runs.append(found)
            costs += [1000 * took / len(found)] * bool(found)
        left = Counter(str(one.left) for found in runs for one in found)
        print(f"{name}: steps left {dict(sorted(left.items()))}, {spread(costs)} ms per finding")
        for measure in ("norm", "move", "from_seed"):
            print(f"  {measure} after / before: {medians(runs, measure)}", flush=True)


if __name__ == "__main__":
    main()
