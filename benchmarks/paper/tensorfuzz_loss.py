"""TensorFuzz's last example: a GAN's loss that is large while its gradient vanishes, or that is NaN."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from gan_loss import loss, saturated
from jostle import Budget, Campaign, FarFromSeen, Finite, NewestFew, Noise, Property, Seeds, TorchTarget
from jostle.interfaces import Oracle
from jostle.records import NO_LABEL
from paper.searches import GUIDED, HEAD, UNGUIDED, First, first_finding, found, row, sooner_by_guidance, tests
from paper.table import Cell, Data, Result, Section, Table

RUNS, FIRST, BUDGET = 10, 100, 50_000
DEFECTS = {
    "vanishing": "loss above 0.1 with a gradient below 0.0001, cross-entropy with 1e-12 in its logarithm",
    "nan": "NaN, cross-entropy without it",
}


def careless_loss(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Cross-entropy against "fake", term by term: zero times minus infinity once the sigmoid underflows."""
    real, fake = outputs.sigmoid(), 1 - outputs.sigmoid()
    return {"loss": -(torch.zeros_like(real) * real.log() + fake.log()).squeeze(1)}


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
    """Executions until a score of the discriminator shows the defect, from sixteen ordinary ones."""
    scores = torch.rand(16, 1, generator=torch.Generator().manual_seed(seed))
    vanishing: Oracle = Property("saturated", saturated)
    return first_finding(
        Campaign(
            target=TorchTarget(
                nn.Sequential(nn.Identity()),
                ["0"],
                metadata=loss if defect == "vanishing" else careless_loss,
                gradients=defect == "vanishing",
            ),
            mutator=Noise(sigma=1, low=-1000, high=1000),
            feedbacks=[FarFromSeen(["0"], threshold=0.1)] if guided else [],
            oracles=[vanishing if defect == "vanishing" else Finite()],
            scheduler=NewestFew(),
            seeds=Seeds(scores, torch.full((len(scores),), NO_LABEL), tuple(map(str, range(len(scores))))),
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
    compared = "\n".join(f"- {DEFECTS[defect]}: {tests(*both)}" for defect, both in runs.items())
    body = f"""A discriminator's raw scores, as `examples/gan_loss.py` has them: sixteen ordinary ones between 0 and 1,
σ 1, values from -1000 to 1000,
{len(results) // (2 * len(DEFECTS))} seeds of randomness, at most {budget:,} executions a run;
novelty by distance from all scores seen.

{HEAD}
{chr(10).join(rows)}

{compared}"""
    every = all(found(guided) == len(guided) for guided, _ in runs.values())
    sooner = all(sooner_by_guidance(*both) for both in runs.values())
    told = "; ".join(
        f"{defect} by {found(one)} of {len(one)} guided runs, {found(two)} unguided"
        for defect, (one, two) in runs.items()
    )
    return Section(f"{'Holds' if every and sooner else 'Holds in part' if every else 'Does not hold'}: {told}.", body)


LOSS = Table(
    "loss",
    "TensorFuzz: a GAN's loss",
    'a popular GAN implementation with the test "loss > 0.1 and |gradient| < 0.0001": an input to the loss that breaks '
    "it is found in seconds.",
    "1",
    cells,
    section,
)
