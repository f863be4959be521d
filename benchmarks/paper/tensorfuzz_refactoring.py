"""TensorFuzz's third example: code that is fuzzed against what is to replace it, exact or with a planted defect."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from flip import hasty_flip, new_flip, old_flip
from jostle import Agreement, Budget, Campaign, Close, FarFromSeen, NewestFew, Noise, SameTop, Seeds, TorchTarget, Twins
from jostle.records import TWIN
from jostle.zoo import lenet5
from mnist_data import held_out_images
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

RUNS, FIRST = 10, 100  # one digit and seed of randomness each
BUDGET = 20_000
REPLACEMENTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"exact": new_flip, "hasty": hasty_flip}
BEHIND = {"pixels": "the pixels themselves", "labels": "what LeNet-5 says of the flipped digit"}


class Flipped(nn.Module):
    """Images [batch, 1, 28, 28] flipped by one of the functions, which take arrays."""

    def __init__(self, flip: Callable[[np.ndarray], np.ndarray]):
        super().__init__()
        self._flip = flip

    def forward(self, images: Tensor) -> Tensor:
        return torch.from_numpy(self._flip(images.numpy()))


def cells(data: Data) -> Sequence[Cell]:
    budget = data.budget(BUDGET, 2_000)
    return [
        Cell(f"{new}/{seen}/{how}/seed{seed}", 2, measured, {**_kind(new, seen, how), "seed": seed, "budget": budget})
        for new in REPLACEMENTS
        for seen in BEHIND
        for how in (GUIDED, UNGUIDED)
        for seed in data.seeds(RUNS, FIRST)
    ]


def _kind(new: str, seen: str, how: str) -> dict[str, str]:
    return {"new": new, "seen": seen, "how": how}


def measured(data: Data, new: str, seen: str, how: str, seed: int, budget: int) -> Result:
    images, labels, _ = held_out_images(data.folder)
    first = first_difference(new, seen, images[seed], labels[seed], seed, how == GUIDED, budget)
    return {**_kind(new, seen, how), "first": first, "budget": budget}


def first_difference(new: str, seen: str, image: Tensor, label: Tensor, seed: int, guided: bool, budget: int) -> First:
    old, replacement = (_behind(flip, seen) for flip in (old_flip, REPLACEMENTS[new]))
    return first_finding(
        Campaign(
            target=Twins(TorchTarget(old, ["last"]), {TWIN: TorchTarget(replacement)}),
            mutator=Noise(sigma=0.1, low=0, high=1, radius=0.4),
            feedbacks=[FarFromSeen(["last"], threshold=1.0)] if guided else [],
            oracles=[Agreement(SameTop() if seen == "labels" else Close(1e-6))],
            scheduler=NewestFew(),
            seeds=Seeds(image[None], label[None], ("start",)),
            budget=Budget(executions=budget, findings=1),
            seed=seed,
        )
    )


def _behind(flip: Callable[[np.ndarray], np.ndarray], seen: str) -> nn.Module:
    last = lenet5() if seen == "labels" else nn.Flatten()
    model = nn.Sequential()
    model.add_module("flip", Flipped(flip))
    model.add_module("last", last)
    return model.eval()


def section(results: Mapping[str, Result]) -> Section:
    def runs(new: str, seen: str, how: str) -> list[First]:
        return [one["first"] for one in results.values() if (one["new"], one["seen"], one["how"]) == (new, seen, how)]

    exact = [first for seen in BEHIND for how in (GUIDED, UNGUIDED) for first in runs("exact", seen, how)]
    hasty = {seen: (runs("hasty", seen, GUIDED), runs("hasty", seen, UNGUIDED)) for seen in BEHIND}
    rows = [
        row(f"hasty flip, {BEHIND[seen]}, {how}", first)
        for seen, both in hasty.items()
        for how, first in zip((GUIDED, UNGUIDED), both, strict=True)
    ]
    budget = next(iter(results.values()))["budget"]
    body = f"""The flip of `examples/flip.py` column by column against two that replace it: an exact one, and a hasty
one that goes through bytes, which is right for every image that came from a file. {len(hasty["pixels"][0])} digits, one
seed of randomness each, σ 0.1, within L∞ 0.4,
at most {budget:,} executions a run. On the digits themselves both replacements agree with the old code.

{HEAD}
{row("exact flip, pixels and LeNet-5 behind it, guided and unguided", exact)}
{chr(10).join(rows)}

Hasty flip, seen by LeNet-5's answer only. {tests(*hasty["labels"])} {WHOLE_BATCHES} {ONLY_THE_START}"""
    return Section(_verdict(exact, *hasty["labels"], hasty["pixels"][0]), body)


def _verdict(
    exact: Sequence[First], guided: Sequence[First], unguided: Sequence[First], pixels: Sequence[First]
) -> str:
    alarms = found(exact)
    told = (
        f"the defect is found by {found(pixels)} of {len(pixels)} runs on pixels, and by its effect on LeNet-5's "
        f"answer by {found(guided)} of {len(guided)} guided runs against {found(unguided)} unguided; {alarms} false "
        f"alarms on the exact replacement."
    )
    if alarms or not found(pixels):
        return f"Does not hold: {told}"
    return f"{'Holds' if sooner_by_guidance(guided, unguided) else 'Holds in part'}: {told}"


REFACTORING = Table(
    "refactoring",
    "TensorFuzz: refactoring",
    "an image flip made faster; the key technique was to fuzz the difference between new code and old code. No figures "
    "are given for how soon a defect would be found.",
    "1",
    cells,
    section,
)
