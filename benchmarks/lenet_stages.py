"""LeNets trained on MNIST to three accuracies, for questions that DeepHunter asks of models A, B and C."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from deephunter_lenets import SHAPES
from jostle.zoo import LeNet

STEPS = {"A": 500, "B": 1500, "C": 6000}  # of training, batches of 64


def trained_stages(name: str, images: Tensor, labels: Tensor) -> dict[str, nn.Module]:
    """The network after three stages of one training, the best last, each ending in softmax."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = LeNet(*SHAPES[name], "valid")
        optimiser = torch.optim.Adam(model.parameters(), 1e-3)
        stages = {}
        for step in range(1, max(STEPS.values()) + 1):
            rows = torch.randint(len(images), (64,))
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
            optimiser.step()
            for stage, end in STEPS.items():
                if step == end:
                    stages[stage] = copy.deepcopy(model)
    for model in stages.values():
        model.add_module("softmax", nn.Softmax(1))
        model.eval()
    return stages
