"""TensorFuzz's last example: a GAN's loss that is large while its gradient vanishes, or that is NaN."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from gan_loss import NUMBERS, careless_loss, gan, guarded_loss, saturated
from jostle import Budget, Campaign, FarFromSeen, Finite, NewestFew, Noise, Property, Seeds, TorchTarget
from jostle.interfaces import Oracle
from jostle.records import NO_LABEL
from paper.searches import (
    GUIDED,
    HEAD,
    ONLY_THE_START,
    UNGUIDED,
    WHOLE_BATCHES,
    First,
    first_finding,
    found,
    row,
    sooner_by_guidance,
    tests,
)
from paper.table import Cell, Data, Result, Section, Table

RUNS, FIRST, BUDGET = 10, 100, 50_000
SCORE = "1.2"  # the discriminator's last layer
DEFECTS = {
    "vanishing": "loss above 0.1 with a gradient below 0.0001, a constant in the logarithm",
    "nan": "loss or gradient not finite, no constant",
}


def cells(data: Data) -> Sequence[Cell]:
    budget = data.budget(BUDGET, 5_000)
    return [
        Cell(f"{defect}/{how}/seed{seed}", 2, measured, {"defect": defect, "how": how, "seed": seed, "budget": budget})
        for defect in DEFECTS
        for how in (GUIDED, UNGUIDED)
        for seed in data.seeds(RUNS, FIRST)
    ]


def measured(data: Data, defect: str, how: str, seed: int, budget: int) -> Result:
    return {"defect": defect, "how": how, "first": first_defect(defect, seed, how == GUIDED, budget), "budget": budget}


def first_defect(defect: str, seed: int, guided: bool, budget: int) -> First:
    """Executions until random numbers of the generator show the defect, from 64 ordinary draws."""
    numbers = torch.randn(64, NUMBERS, generator=torch.Generator().manual_seed(seed))
    oracle: Oracle = Property("saturated", saturated) if defect == "vanishing" else Finite()
    return first_finding(
        Campaign(
            target=TorchTarget(
                gan(), [SCORE], metadata=guarded_loss if defect == "vanishing" else careless_loss, gradients=True
            ),
            mutator=Noise(sigma=0.5, low=-8, high=8),
            feedbacks=[FarFromSeen([SCORE], threshold=0.1)] if guided else [],
            oracles=[oracle],
            scheduler=NewestFew(),
            seeds=Seeds(numbers, torch.full((len(numbers),), NO_LABEL), tuple(map(str, range(len(numbers))))),
            budget=Budget(executions=budget, findings=1),
            seed=seed,
        )
    )


def section(results: Mapping[str, Result]) -> Section:
    runs = {
        defect: tuple(
            [one["first"] for one in results.values() if (one["defect"], one["how"]) == (defect, how)]
            for how in (GUIDED, UNGUIDED)
        )
        for defect in DEFECTS
    }
    runs = {defect: both for defect, both in runs.items() if all(both)}
    rows = [
        row(f"{DEFECTS[defect]}, {how}", first)
        for defect, both in runs.items()
        for how, first in zip((GUIDED, UNGUIDED), both, strict=True)
    ]
    budget = next(iter(results.values()))["budget"]
    compared = "\n".join(f"- {DEFECTS[defect].capitalize()}. {tests(*both)}" for defect, both in runs.items())
    body = f"""The generator and discriminator of `examples/gan_loss.py`, trained on digits; what is fuzzed are the
generator's {NUMBERS} random numbers, from 64 ordinary draws, σ 0.5 within -8..8, {len(results) // (2 * len(DEFECTS))}
seeds of randomness, at most {budget:,} executions a run; novelty by distance from all scores seen.

{HEAD}
{chr(10).join(rows)}

{compared}

{WHOLE_BATCHES} {ONLY_THE_START}"""
    every = bool(runs) and all(found(guided) == len(guided) for guided, _ in runs.values())
    sooner = bool(runs) and all(sooner_by_guidance(*both) for both in runs.values())
    told = "; ".join(
        f"{defect} by {found(one)} of {len(one)} guided runs, {found(two)} unguided"
        for defect, (one, two) in runs.items()
    )
    told += "; guidance finds both sooner" if sooner else "; that guidance finds them sooner is not shown for both"
    some = any(found(guided) for guided, _ in runs.values())
    return Section(f"{'Holds' if every else 'Holds in part' if some else 'Does not hold'}: {told}.", body)


LOSS = Table(
    "loss",
    "TensorFuzz: a GAN's loss",
    'a popular GAN implementation with the test "loss > 0.1 and |gradient| < 0.0001": an input to the loss that gives '
    "NaN is found in seconds. There is no comparison with random search.",
    "2",
    cells,
    section,
)
