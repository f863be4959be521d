"""DeepHunter's whole loop on a network of ResNet-50's size beside the bare forward pass, two threads, in one run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from bare_pass import between, forward_rate, mutants, torch_threads
from bench.command import run_script
from bench.rows import Row, at_least, ratio_row
from jostle.mutators.metamorphic import Metamorphic
from jostle.records import NO_LABEL, Seeds
from paper.table import Data
from resnet50 import photos, resnet50
from sessions import fuzz_rate

SEEDS = 5
BATCH = 8
STEPS = 15
PASSES = 4
BAR = at_least(0.9)
NETWORK = Path(__file__).with_name("resnet50.py")


def unlabelled(images: Tensor) -> Seeds:
    return Seeds(images, torch.full((len(images),), NO_LABEL), ("",) * len(images))


def measure(data: Data) -> Iterator[Row]:
    images = photos()
    executions = len(images) + data.budget(STEPS, 1) * BATCH
    inputs = mutants(Metamorphic(0, 1), unlabelled(images), BATCH)
    bare = partial(forward_rate, resnet50(), inputs, data.budget(PASSES, 1))
    options = {
        "recipe": "deephunter",
        "model": f"{NETWORK}:resnet50",
        "seeds": f"{NETWORK}:photos",
        "layers": ("*",),
        "batch": BATCH,
        "executions": executions,
        "force": True,  # random weights tell nothing of these pictures
    }
    with torch_threads(2):
        pairs = [between(partial(fuzz_rate, seed=seed, **options), bare) for seed in data.some(range(SEEDS))]
    yield ratio_row(
        "deephunter, `kmnc`, ResNet-50 with random weights at 224×224, 94,056 neurons, two threads, batch 8, all "
        "written to disk: loop / bare forward pass",
        pairs,
        "bare pass",
        f"{executions:,} executions",
        BAR,
        beside_form=".1f",
    )


if __name__ == "__main__":
    sys.exit(run_script(__file__, measure))
