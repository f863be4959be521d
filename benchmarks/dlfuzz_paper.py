"""DLFuzz with the paper's budget, Table 1 beside DeepXplore, and Figure 4, on the networks both papers measured.

Twenty of the 50 images that come with DLFuzz, drawn anew for every seed; each entry of the seed list is mutated once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median

import torch

from deepxplore_lenets import counted_layers, network, seed_images
from dlfuzz_runs import Run, fuzz, survivors
from mnist_data import data_folder
from spread import spread

NAMES = ("lenet1", "lenet4", "lenet5")
PAPER = {"lenet1": 53, "lenet4": 47, "lenet5": 54}  # adversarial inputs in Table 1
IMAGES = 20
CONSTRAINTS = ("light", "occlusion", "blackout")
FOUR = ("frequent", "rare", "heavy", "near")


def dlfuzz(name: str, folder: Path | None, seed: int, images: int = IMAGES, **given: object) -> Run:
    pictures, labels = seed_images(folder, images, seed)
    return fuzz(network(name, folder), pictures, labels, counted_layers(name), rounds=1, seed=seed, **given)


def deepxplore(name: str, folder: Path | None, seed: int, constraint: str, images: int = IMAGES) -> Run:
    pictures, labels = seed_images(folder, images, seed)
    others = [network(other, folder) for other in NAMES if other != name]
    layers = ("relu*", "pool*", "fc*", "softmax")
    return fuzz(
        network(name, folder),
        pictures,
        labels,
        layers,
        counted=counted_layers(name),
        others=others,
        rounds=1,
        seed=seed,
        perturbation=constraint,
        minimise=False,
    )


def paper_budget(folder: Path | None, seeds: int) -> None:
    print("# the paper's budget: 20 images, k 4, m 10, strategy 1, 3 iterations for each entry of the seed list")
    for name in NAMES:
        runs = [dlfuzz(name, folder, seed) for seed in range(seeds)]
        model = network(name, folder)
        confirmed = [survivors(model, run) for run in runs]
        found = [len(run.adversarial) for run in runs]
        print(f"{name}: adversarial inputs (paper {PAPER[name]}): {spread(found)}")
        print(f"{name}: still so when read back from image files: {spread(confirmed)}")
        print(f"{name}: mutants: {spread([run.summary.executions - IMAGES for run in runs])}")
        print(f"{name}: mean relative L2 (paper 0.27): {spread([float(run.distances.mean()) for run in runs], '.3f')}")
        print(f"{name}: images with any: {spread([len(run.adversarial.roots.unique()) for run in runs])} of {IMAGES}")
        smallest = [median(run.minimised.values()) for run in runs]
        print(f"{name}: median relative L2 of the nearest minimised finding of an image: {spread(smallest, '.3f')}")
        print(f"{name}: seconds: {spread([run.seconds for run in runs], '.2f')}", flush=True)


def table1(folder: Path | None, seeds: int) -> None:
    print("# Table 1: coverage of the seeds, then of seeds and generated tests, and of all inputs run; in per cent")
    for name in NAMES:
        rows = {"DLFuzz": [dlfuzz(name, folder, seed, minimise=False) for seed in range(seeds)]}
        for constraint in CONSTRAINTS:
            rows[f"DeepXplore, {constraint}"] = [deepxplore(name, folder, seed, constraint) for seed in range(seeds)]
        for what, runs in rows.items():
            print(f"{name}: {what}: {_line(runs)}", flush=True)


def _line(runs: Sequence[Run]) -> str:
    def average(value: Callable[[Run], float]) -> float:
        return mean(map(value, runs))

    distances = [float(run.distances.mean()) for run in runs if len(run.adversarial)]
    found = average(lambda run: len(run.adversarial))
    seconds = average(lambda run: run.seconds)
    each = f"{seconds / found:.4f} s each" if found else "none"
    return (
        f"coverage {100 * average(lambda run: run.seeds_coverage):.1f}, tests "
        f"{100 * average(lambda run: run.tests_coverage):.1f}, all {100 * average(lambda run: run.coverage):.1f}; "
        f"relative L2 {mean(distances) if distances else float('nan'):.3f}; found {found:.1f}, {each} (n={len(runs)})"
    )


def figure4(folder: Path | None, seeds: int) -> None:
    print(
        "# Figure 4: mean coverage after 5, 10, 15 and 20 images, of seeds and tests / of all inputs run, in per cent"
    )
    for name in NAMES:
        for strategy in FOUR:
            print(f"{name}: {strategy}: {_curve(partial(_by_strategy, name, folder, strategy), seeds)}", flush=True)
        for constraint in CONSTRAINTS:
            told = _curve(lambda seed, images: deepxplore(name, folder, seed, constraint, images), seeds)
            print(f"{name}: DeepXplore, {constraint}: {told}", flush=True)


def _by_strategy(name: str, folder: Path | None, strategy: str, seed: int, images: int) -> Run:
    return dlfuzz(name, folder, seed, images, strategy=(strategy,), minimise=False)


def _curve(run: Callable[[int, int], Run], seeds: int) -> str:
    """Coverage by number of images, averaged over the seeds."""
    points = []
    for images in (5, 10, 15, 20):
        runs = [run(seed, images) for seed in range(seeds)]
        tests, everything = mean(one.tests_coverage for one in runs), mean(one.coverage for one in runs)
        points.append(f"{100 * tests:.1f} / {100 * everything:.1f}")
    return ", ".join(points)


PARTS = {"budget": paper_budget, "table1": table1, "figure4": figure4}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with the published networks and images")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", choices=PARTS)
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    for part in [given.only] if given.only else PARTS:
        PARTS[part](data_folder(given.data), given.seeds)
