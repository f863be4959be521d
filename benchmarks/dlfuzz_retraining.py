"""Accuracy before and after training further on what was found: clean data and findings, held out and trained on.

Seeds are training images, so nothing of what is measured on was ever seen; the paper gains up to 1.8 points.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch

from deepxplore_lenets import counted_layers, network
from jostle.commands.retrain import Accuracy, TrainingOptions, retrain
from jostle.composition.settle import FUZZ
from jostle.session.assemble import assemble
from mnist_data import data_folder, held_out_images, training_images
from spread import spread

SEEDS = 300  # images fuzzed
EPOCHS = 3


def once(name: str, folder: Path | None, seed: int, seconds: float) -> tuple[Accuracy, Accuracy, int, int]:
    images, labels, _ = training_images(folder)
    held, held_labels, _ = held_out_images(folder)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for file, some, known in (
            ("seeds", images[order[:SEEDS]], labels[order[:SEEDS]]),
            ("data", images, labels),
            ("test", held, held_labels),
        ):
            np.savez(root / f"{file}.npz", x=some.numpy(), y=known.numpy())
        torch.save(network(name, folder), root / "model.pt")
        options = FUZZ.parsed(
            {
                "model": str(root / "model.pt"),
                "seeds": str(root / "seeds.npz"),
                "recipe": "dlfuzz",
                "layers": counted_layers(name),
                "budget": seconds,
                "seed": seed,
                "out": str(root / "campaign"),
                "trust_model": True,
                "minimise": False,
            }
        )
        with assemble(options).closed_after() as session:
            session.search()
        result = retrain(
            root / "campaign",
            None,
            str(root / "data.npz"),
            str(root / "test.npz"),
            None,
            TrainingOptions(EPOCHS, seed=seed),
            True,
        )
        return result.before, result.after, result.findings, result.unseen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with full MNIST and the published networks")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    print(f"# {SEEDS} seeds fuzzed for {given.seconds:.0f} s, {EPOCHS} epochs over all training images and findings")
    for network_name in ("lenet1", "lenet4", "lenet5"):
        runs = [once(network_name, data_folder(given.data), seed, given.seconds) for seed in range(given.seeds)]
        print(f"{network_name}: findings trained on: {spread([run[2] for run in runs])}")
        for what in ("clean", "unseen", "trained"):
            for when, number in (("before", 0), ("after", 1)):
                values = [100 * getattr(run[number], what) for run in runs]
                print(f"{network_name}: {what}, {when}: {spread(values, '.2f')} %", flush=True)
