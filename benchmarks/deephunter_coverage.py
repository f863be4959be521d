"""Coverage that DeepHunter's loop reaches on its authors' LeNets, beside their own code's and the paper's Table 4.

Shares are of all neurons, constant ones included, as both of these count; those of neurons with a range stand behind.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import nn

from deephunter_lenets import LAYERS, SHAPES, network, per_class, published_seeds
from deephunter_runs import fuzz, profile_of
from jostle import Budget, Profile, Seeds, StepRecord
from mnist_data import data_folder, held_out_images, training_images
from spread import spread

NETWORKS = tuple(SHAPES)
CRITERIA = ("kmnc", "nbc", "snac", "tknc", "bknc", "nc")
# Per cent for LeNet-1, LeNet-4 and LeNet-5; TKNC counts neurons by rank, which is what their code counts.
THEIR_CODE = {
    "kmnc": (43.0, 34.6, 35.4),
    "nbc": (2.4, 2.5, 0.04),
    "snac": (0.0, 0.7, 0.0),
    "tknc": (87.4, 77.3, 68.1),
    "nc": (23.8, 54.4, 56.6),
}
TABLE_4 = {
    "kmnc": (92.2, 75.9, 78.4),
    "nbc": (24.4, 15.1, 11.3),
    "snac": (22.1, 20.2, 19.2),
    "tknc": (49.8, 72.7, 83.2),
    "bknc": (49.8, 31.1, 30.5),
    "nc": (31.3, 61.1, 70.8),
}
LAYER_SIZES = {"lenet1": (4, 4, 12, 12, 10), "lenet4": (6, 6, 16, 16, 84, 10), "lenet5": (6, 6, 16, 16, 120, 84, 10)}


def of_all(name: str, criterion: str, figures: dict[str, float]) -> float:
    """Per cent of all neurons, sides or ranks, also of those that cannot be covered."""
    sizes = LAYER_SIZES[name]
    if criterion in ("kmnc", "nbc", "snac"):
        return 100 * figures["covered"] * figures["neurons"] / sum(sizes)
    if criterion == "tknc":
        return 100 * figures["ranks"] * sum(size * min(size, 10) for size in sizes) / (10 * sum(sizes))
    return 100 * figures["covered"]


def few_seeds(folder: Path, seeds_of_randomness: int) -> None:
    """Ten seeds and 10,000 mutants, as their own code was run."""
    for position, name in enumerate(NETWORKS):
        model = network(name, folder)
        profile = profile_of(model, training_images(folder)[0], LAYERS.split(","))
        images = published_seeds(folder)
        with torch.no_grad():
            seeds = Seeds(images, model(images).argmax(1), ("",) * len(images))
        for criterion in CRITERIA:
            reached = []
            for seed in range(seeds_of_randomness):
                budget = Budget(executions=10_010)
                summary, _ = fuzz(model, seeds, profile, LAYERS.split(","), (criterion,), budget, seed)
                reached.append(of_all(name, criterion, dict(summary.coverage[criterion])))
            theirs = THEIR_CODE.get(criterion)
            beside = "" if theirs is None else f"; their code {theirs[position]}"
            print(f"  {name} {criterion}: {spread(reached, '.2f')}{beside}", flush=True)


def many_seeds(folder: Path | None, criteria: tuple[str, ...], seconds: float, seeds_of_randomness: int) -> None:
    """A hundred rightly classified seeds of each class, for so many seconds, beside Table 4 (24 hours on a V100)."""
    for position, name in enumerate(NETWORKS):
        model = network(name, folder)
        profile = profile_of(model, training_images(folder)[0], LAYERS.split(","))
        for criterion in criteria:
            runs = [
                timed(name, model, profile, folder, criterion, seconds, seed) for seed in range(seeds_of_randomness)
            ]
            theirs = TABLE_4[criterion][position]
            for moment in sorted(runs[0]):
                reached = spread([run[moment] for run in runs], ".1f")
                print(f"  {name} {criterion} after {moment:g} s: {reached}; Table 4 {theirs}", flush=True)


def timed(
    name: str, model: nn.Module, profile: Profile, folder: Path | None, criterion: str, seconds: float, seed: int
) -> dict[float, float]:
    """Per cent reached at some moments of one run."""
    images, labels, _ = held_out_images(folder)
    rows = per_class(model, images, labels, 100, torch.Generator().manual_seed(seed))
    seeds = Seeds(images[rows], labels[rows], ("",) * len(rows))
    reached: dict[float, float] = {}

    def note(record: StepRecord) -> None:
        for moment in (30.0, 60.0, 120.0, 300.0, 600.0):
            if record.so_far.seconds >= moment and moment not in reached:
                reached[moment] = of_all(name, criterion, dict(record.so_far.coverage[criterion]))

    summary, _ = fuzz(
        model, seeds, profile, LAYERS.split(","), (criterion,), Budget(seconds=seconds), seed, listeners=[note]
    )
    reached.setdefault(seconds, of_all(name, criterion, dict(summary.coverage[criterion])))
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--only", choices=["few", "many"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--criteria", default=",".join(CRITERIA))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = data_folder(options.data)
    print(f"per cent of all neurons; {options.seeds} seeds of randomness, {options.threads} threads")
    if folder is None:
        print("no data folder: the shipped networks and 500 digits stand in for the published ones, see --data")
    elif options.only in (None, "few"):
        print("ten published seeds, 10,000 mutants:")
        few_seeds(folder, options.seeds)
    if options.only in (None, "many"):
        print(f"seeds of all classes, {options.seconds:g} s:")
        many_seeds(folder, tuple(options.criteria.split(",")), options.seconds, options.seeds)


if __name__ == "__main__":
    main()
