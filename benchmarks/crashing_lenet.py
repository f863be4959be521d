"""LeNet-5 that ends its process on one input in a hundred."""

from __future__ import annotations

import os

import torch
from torch import Tensor

from jostle.zoo import lenet5, mnist_sample

SHARE = 100  # one input in so many ends the process


class Crashing(torch.nn.Module):
    """LeNet-5, which aborts on about one input in a hundred; the values of its pixels decide on which."""

    def __init__(self) -> None:
        super().__init__()
        self.digits = lenet5()

    def forward(self, images: Tensor) -> Tensor:
        if guilty(images).any():
            os.abort()
        scores: Tensor = self.digits(images)
        return scores


def guilty(images: Tensor) -> Tensor:
    """Which images [batch, 1, 28, 28] end the process."""
    return (images.flatten(1).double() * torch.arange(1, 785)).sum(1).mul(1e4).long() % SHARE == 0


def innocent_seeds() -> Tensor:
    images: Tensor = mnist_sample()[0]
    return images[~guilty(images)]
