"""DeepHunter's RQ2 and RQ4 on LeNets trained to three accuracies, and several criteria at once beside single ones."""

from __future__ import annotations

import argparse
import copy
from collections import defaultdict
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn

from deephunter_lenets import LAYERS, SHAPES
from deephunter_runs import fuzz, profile_of
from jostle import Budget, Seeds
from jostle.subjects.torch_twins import some_weights16
from lenet_stages import trained_stages
from mnist_data import data_folder, held_out_images, training_images
from spread import spread

CRITERIA = ("nc", "kmnc", "nbc", "snac", "tknc", "bknc")
SHARES = (0.01, 0.5, 1.0)
REPEATS = 5
EXECUTIONS = 40_000


@torch.no_grad()
def answers(model: nn.Module, images: Tensor) -> Tensor:
    return torch.cat([model(some).argmax(1) for some in images.split(1000)])


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    return float((answers(model, images) == labels).float().mean())


def right_for_all(stages: dict[str, nn.Module], images: Tensor, labels: Tensor, rng: torch.Generator) -> Seeds:
    """A hundred images of each class that every stage classifies rightly, as in the paper."""
    right = torch.stack([answers(model, images) == labels for model in stages.values()]).all(0)
    rows = []
    for label in range(10):
        able = (right & (labels == label)).nonzero().squeeze(1)
        rows.append(able[torch.randperm(len(able), generator=rng)[:100]])
    chosen = torch.cat(rows)
    return Seeds(images[chosen], labels[chosen], ("",) * len(chosen))


def quantised_differ(model: nn.Module, images: Tensor) -> list[float]:
    """How many of the images are answered otherwise with 1, 50 and 100 % of the weights in 16 bit, averaged."""
    before = answers(model, images)
    counts = []
    for share in SHARES:
        twins = (
            some_weights16(copy.deepcopy(model), share, torch.Generator().manual_seed(seed)) for seed in range(REPEATS)
        )
        counts.append(mean(int((answers(twin, images) != before).sum()) for twin in twins))
    return counts


def tests_of(stages: dict[str, nn.Module], seeds: Seeds, training: Tensor, coverage: tuple[str, ...], seed: int):
    """What a campaign on the best stage keeps [tests, ...], with labels, and its coverage."""
    profile = profile_of(stages["C"], training, LAYERS.split(","))
    budget = Budget(executions=EXECUTIONS)
    summary, campaign = fuzz(stages["C"], seeds, profile, LAYERS.split(","), coverage, budget, seed)
    kept = campaign.corpus.select(torch.arange(len(seeds), len(campaign.corpus)))
    return kept.inputs, kept.labels, summary.coverage


def quality(folder: Path | None, names: list[str], criteria: list[str], repeats: int) -> None:
    """Tests of the best stage on the others, and on the best stage quantised."""
    training, training_labels, what = training_images(folder)
    held_out, labels, _ = held_out_images(folder)
    print(f"trained on {what}; {EXECUTIONS:,} executions a campaign, {repeats} seeds of randomness")
    for name in names:
        stages = trained_stages(name, training, training_labels)
        plain = ", ".join(f"{stage} {accuracy(model, held_out, labels):.2%}" for stage, model in stages.items())
        print(f"{name}: accuracy on held-out images: {plain}; on the seeds 100 % for all", flush=True)
        for criterion in criteria:
            scores: dict[str, list[float]] = defaultdict(list)
            for seed in range(repeats):
                seeds = right_for_all(stages, held_out, labels, torch.Generator().manual_seed(seed))
                images, tests, _ = tests_of(stages, seeds, training, (criterion,), seed)
                scores["tests"].append(len(images))
                for stage in ("A", "B"):
                    scores[stage].append(100 * accuracy(stages[stage], images, tests))
                scores["on seeds"].append(sum(quantised_differ(stages["C"], seeds.inputs)))
                for share, count in zip(SHARES, quantised_differ(stages["C"], images), strict=True):
                    scores[f"{share:.0%}"].append(count)
            line = "; ".join(f"{what} {spread(values, '.1f')}" for what, values in scores.items())
            print(f"  {criterion}: {line}", flush=True)


def hunted(folder: Path | None, names: list[str], repeats: int) -> None:
    """Campaigns that hunt disagreement between the best stage and itself quantised."""
    training, training_labels, _ = training_images(folder)
    held_out, labels, _ = held_out_images(folder)
    print(f"inputs on which 32 and 16 bit disagree, among {EXECUTIONS:,} executions, {repeats} seeds of randomness")
    for name in names:
        stages = trained_stages(name, training, training_labels)
        model = stages["C"]
        profile = profile_of(model, training, LAYERS.split(","))
        for share in SHARES:
            found = []
            for seed in range(repeats):
                seeds = right_for_all(stages, held_out, labels, torch.Generator().manual_seed(seed))
                twin = some_weights16(copy.deepcopy(model), share, torch.Generator().manual_seed(seed))
                budget, layers = Budget(executions=EXECUTIONS), LAYERS.split(",")
                summary, _ = fuzz(model, seeds, profile, layers, ("kmnc",), budget, seed, twin=twin)
                found.append(summary.violations.get("agree", 0))
            print(f"  {name}, {share:.0%} of the weights: {spread(found)}; on the seeds themselves 0", flush=True)


def combined(folder: Path | None, repeats: int) -> None:
    """Every criterion's own coverage, reached by it alone, by all with any gain, and by the adaptive choice."""
    training, training_labels, _ = training_images(folder)
    held_out, labels, _ = held_out_images(folder)
    stages = trained_stages("lenet5", training, training_labels)
    profile = profile_of(stages["C"], training, LAYERS.split(","))
    reached: dict[tuple[str, str], list[float]] = defaultdict(list)
    for seed in range(repeats):
        seeds = right_for_all(stages, held_out, labels, torch.Generator().manual_seed(seed))
        runs = {criterion: ((criterion,), "pool") for criterion in CRITERIA}
        runs |= {"all, pool": (CRITERIA, "pool"), "all, adaptive": (CRITERIA, "adaptive")}
        for run, (coverage, scheduler) in runs.items():
            budget = Budget(executions=EXECUTIONS)
            layers = LAYERS.split(",")
            summary, _ = fuzz(stages["C"], seeds, profile, layers, coverage, budget, seed, scheduler=scheduler)
            for criterion, figures in summary.coverage.items():
                fine = figures.get("ranks", figures["covered"])
                reached[run, criterion].append(100 * fine)
    print(f"lenet5, {EXECUTIONS:,} executions: per cent of each criterion (of ranks for tknc and bknc)")
    for (run, criterion), values in reached.items():
        print(f"  by {run}: {criterion} {spread(values, '.2f')}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--only", choices=["quality", "hunted", "combined"])
    parser.add_argument("--criteria", default=",".join(CRITERIA))
    parser.add_argument("--networks", default=",".join(SHAPES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = data_folder(options.data)
    if options.only in (None, "quality"):
        quality(folder, options.networks.split(","), options.criteria.split(","), options.seeds)
    if options.only in (None, "hunted"):
        hunted(folder, options.networks.split(","), options.seeds)
    if options.only in (None, "combined"):
        combined(folder, options.seeds)


if __name__ == "__main__":
    main()
