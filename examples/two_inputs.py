"""A model of two inputs, an image and an age, with a division that no seed shows: nobody in them is 65.

    jostle fuzz examples/two_inputs.py:model --seeds examples/two_inputs.py:seeds --executions 20000
    jostle fuzz examples/two_inputs.py:model --seeds examples/two_inputs.py:seeds \
        --input image=metamorphic --input age --executions 20000
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from jostle.zoo import lenet5, mnist_sample

PENSION = 65  # years


class Steadied(nn.Module):
    """Reads a digit, and is surer of it the nearer its writer is to the pension."""

    def __init__(self) -> None:
        super().__init__()
        self.digits = lenet5()

    def forward(self, image: Tensor, age: Tensor) -> Tensor:
        return self.digits(image) * (1 + 1 / (age - PENSION).abs())[:, None]


def model() -> nn.Module:
    return Steadied()


def seeds() -> dict[str, Tensor]:
    """Digits, each with the age of its writer, and their labels."""
    images, labels = mnist_sample()
    ages = torch.arange(len(images)) * 7 % 70 + 20
    return {"image": images, "age": torch.where(ages == PENSION, PENSION + 1, ages), "y": labels}
