"""DLFuzz's and DeepXplore's runs on the networks that both papers measured, and on an ImageNet classifier of today."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

import torch

from deepxplore_lenets import counted_layers, network, seed_images
from dlfuzz_runs import Run, fuzz, survivors
from jostle import Budget
from paper.table import Data, Result
from real_networks import efficientnet_lite0, imagenet_images

LENETS = {"lenet1": "LeNet-1", "lenet4": "LeNet-4", "lenet5": "LeNet-5"}
CONSTRAINTS = ("light", "occlusion", "blackout")
FIRST_DRAW = 100  # settings were chosen on draws 0 to 5 of the images
PHOTOGRAPHS, EXECUTIONS_ON_PHOTOGRAPHS = 3, 60  # of foolbox's twenty, drawn for each seed of randomness
ROUNDS_OF_PHOTOGRAPHS = 3  # one round makes about one mutant of each
COUNTED_OF_PHOTOGRAPHS = ("*_swish", "*_fc")  # every activation, as the papers count


def dlfuzz(data: Data, name: str, draw: int, images: int, **given: Any) -> Run:
    """The paper's setting: each entry of the seed list is mutated once, k 4, m 10, 3 iterations."""
    pictures, labels = seed_images(data.folder, images, draw)
    model = network(name, data.folder)
    return fuzz(model, pictures, labels, counted_layers(name), rounds=1, seed=draw, **given)


def deepxplore(data: Data, name: str, draw: int, images: int, constraint: str) -> Run:
    """The same images, on the network and the two others that it is compared with."""
    pictures, labels = seed_images(data.folder, images, draw)
    return fuzz(
        network(name, data.folder),
        pictures,
        labels,
        ("relu*", "pool*", "fc*", "softmax"),
        counted=counted_layers(name),
        others=[network(other, data.folder) for other in LENETS if other != name],
        rounds=1,
        seed=draw,
        perturbation=constraint,
        minimise=False,
    )


def dlfuzz_on_photographs(draw: int, images: int, executions: int) -> Run:
    pictures, labels = imagenet_images()
    chosen = torch.randperm(len(pictures), generator=torch.Generator().manual_seed(draw))[:images]
    model = efficientnet_lite0()
    return fuzz(
        model,
        pictures[chosen],
        labels[chosen],
        COUNTED_OF_PHOTOGRAPHS,
        Budget(executions=executions),
        rounds=ROUNDS_OF_PHOTOGRAPHS,
        seed=draw,
        minimise=False,
    )


def figures(run: Run, images: int) -> Result:
    """What Table 1 tells of a run; coverage in per cent."""
    return {
        "seeds": 100 * run.seeds_coverage,
        "tests": 100 * run.tests_coverage,
        "all": 100 * run.coverage,
        "adversarial": len(run.adversarial),
        "roots": len(run.adversarial.roots.unique()),
        "distance": mean(run.distances.tolist()) if len(run.adversarial) else None,
        "minimised": median(run.minimised.values()) if run.minimised else None,
        "mutants": run.summary.executions - images,
        "seconds": run.seconds,
    }


def surviving(data: Data, name: str, run: Run) -> int:
    """How many adversarial inputs are still taken for another class when read back from image files."""
    return survivors(network(name, data.folder), run) if len(run.adversarial) else 0
