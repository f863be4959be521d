"""Executions to the first NaN of a careless loss, guided and unguided, over ten trained networks.

TensorFuzz's example: an image classifier 784-200-100-10, weights drawn from -0.25..0.25, trained on an unstable
cross-entropy; one start image, σ 0.2, values -1..1. Its own code found NaN in 9 of 10, median 67,101 executions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

from jostle import Budget, Campaign, FarFromSeen, Finite, NewestFew, Noise, Seeds, TorchTarget
from mnist_data import data_folder, held_out_images, training_images
from nan_loss import loss, trained
from spread import executions_to_first

NETWORKS = 10
STEPS, RATE = 7_000, 0.05  # the same product as TensorFuzz's 35,000 steps at 0.01
LOGITS = "5"


def first_nan(model: nn.Module, image: Tensor, label: Tensor, seed: int, guided: bool, budget: int) -> int | None:
    """Executions until something is not finite, None if the budget ran out first."""
    campaign = Campaign(
        target=TorchTarget(model, [LOGITS], metadata=loss),
        mutator=Noise(sigma=0.2, low=-1, high=1),
        feedbacks=[FarFromSeen([LOGITS], threshold=1.0, criterion="magnitude")] if guided else [],
        oracles=[Finite()],
        scheduler=NewestFew(),
        seeds=Seeds(image[None], label[None], ("start",)),
        budget=Budget(executions=budget, findings=1),
        seed=seed,
    )
    summary = campaign.run()
    return summary.executions if summary.findings else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with mnist/ (or JOSTLE_DATA)")
    parser.add_argument("--budget", type=int, default=250_000, help="executions per run")
    options = parser.parse_args()
    folder = data_folder(options.data)
    images, labels, source = training_images(folder)
    starts, start_labels, start_source = held_out_images(folder)
    print(f"{NETWORKS} networks trained on {source}; at most {options.budget:,} executions")
    print(f"  one start image each, from {start_source}")
    guided, unguided = [], []
    for seed in range(NETWORKS):
        model = trained(images, labels, STEPS, RATE, seed)
        guided.append(first_nan(model, starts[seed], start_labels[seed], seed, True, options.budget))
        unguided.append(first_nan(model, starts[seed], start_labels[seed], seed, False, options.budget))
        print(f"  network {seed}: guided {guided[-1]}, unguided {unguided[-1]}", flush=True)
    print(f"  guided:   {executions_to_first(guided)} (bar: 10 of 10, median at most 67,000)")
    print(f"  unguided: {executions_to_first(unguided)}")


if __name__ == "__main__":
    main()
