"""The attacks a user would pick instead, on the same images within the same L2 budget: PGD and DeepFool of Foolbox.

All are judged alike: rounded to 8 bits, and successful if the label is another and the distance within the budget; the
attacks also as they are, since they were not made to survive rounding.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import foolbox
import torch
from torch import Tensor, nn

from deepxplore_lenets import counted_layers, network
from dlfuzz_runs import fuzz
from jostle.campaign import Budget
from jostle.inputs.distances import as_image_file, lengths
from mnist_data import data_folder, held_out_images

IMAGES = 500
BUDGETS = (1.0, 1.5, 2.0)  # L2; an image is about 9 long
SECONDS = 10.0


def judged(model: nn.Module, images: Tensor, labels: Tensor, found: Tensor, rounded: bool = True) -> Tensor:
    """L2 of each [images], infinite where the label is the same."""
    saved = as_image_file(found, 0, 1) if rounded else found
    with torch.no_grad():
        flipped = model(saved).argmax(1) != labels
    return torch.where(flipped, lengths(saved - images), torch.inf)


def timed(attack: Callable[[], Tensor]) -> tuple[Tensor, float]:
    started = time.perf_counter()
    return attack(), time.perf_counter() - started


def by_jostle(model: nn.Module, name: str, images: Tensor, labels: Tensor, minimise: bool) -> Tensor:
    """L2 of the nearest finding of each image, infinite where there is none."""
    run = fuzz(
        model,
        images,
        labels,
        counted_layers(name),
        budget=Budget(seconds=SECONDS),
        measured=False,
        minimise=minimise,
    )
    nearest = torch.full((len(images),), torch.inf)
    if minimise:
        for root, distance in run.minimised.items():
            nearest[root] = distance * float(lengths(images[root : root + 1]))
    else:
        distances = lengths(run.adversarial.inputs - run.adversarial.originals)
        nearest.scatter_reduce_(0, run.adversarial.roots, distances, "amin")
    return nearest


def compare(folder: Path | None, name: str, seed: int) -> None:
    model = network(name, folder)
    images, labels, _ = held_out_images(folder)
    drawn = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))[: 2 * IMAGES]
    with torch.no_grad():
        right = drawn[model(images[drawn]).argmax(1) == labels[drawn]][:IMAGES]
    images, labels = images[right], labels[right]
    logits = nn.Sequential(*list(model.children())[:-1]).eval()  # Foolbox wants them
    target = foolbox.PyTorchModel(logits, bounds=(0, 1), device="cpu")
    rows: dict[str, tuple[dict[float, Tensor], float]] = {}

    def pgd() -> Tensor:
        _, clipped, _ = foolbox.attacks.L2PGD(steps=50)(target, images, labels, epsilons=list(BUDGETS))
        return torch.stack(list(clipped))

    torch.manual_seed(seed)
    found, seconds = timed(pgd)
    for what, rounded in (("PGD, 50 steps", True), ("PGD, not rounded", False)):
        by_budget = zip(BUDGETS, found, strict=True)
        rows[what] = ({budget: judged(model, images, labels, one, rounded) for budget, one in by_budget}, seconds)

    def deepfool() -> Tensor:
        raw, _, _ = foolbox.attacks.L2DeepFoolAttack(steps=50)(target, images, labels, epsilons=None)
        return raw

    found, seconds = timed(deepfool)
    for what, rounded in (("DeepFool, 50 steps", True), ("DeepFool, not rounded", False)):
        rows[what] = (dict.fromkeys(BUDGETS, judged(model, images, labels, found, rounded)), seconds)
    for what, minimise in (("Jostle", False), ("Jostle, minimised", True)):
        nearest, seconds = timed(lambda minimise=minimise: by_jostle(model, name, images, labels, minimise))
        rows[what] = (dict.fromkeys(BUDGETS, nearest), seconds)
    for what, (distances, seconds) in rows.items():
        shares = ", ".join(
            f"{float((some <= budget * 1.01).float().mean()):.1%} within {budget:g}"
            for budget, some in distances.items()
        )
        widest = distances[BUDGETS[-1]]
        middle = median(widest[widest.isfinite()].tolist())
        print(f"{name}, seed {seed}: {what}: {shares}; median L2 {middle:.2f}; {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with full MNIST and the published networks")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    print(f"# {IMAGES} MNIST test images each; Jostle fuzzes for {SECONDS:.0f} s and writes all to disk")
    for network_name in ("lenet1", "lenet4", "lenet5"):
        for seed in range(given.seeds):
            compare(data_folder(given.data), network_name, seed)
