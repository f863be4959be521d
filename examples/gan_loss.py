"""A discriminator's loss that stops teaching: large, and yet its gradient vanishes.

    jostle fuzz examples/gan_loss.py:scores --seeds examples/gan_loss.py:first_scores --range=-1000,1000 --sigma 1 \
        --metadata examples/gan_loss.py:loss --gradients --oracle examples/gan_loss.py:saturated --executions 100000
"""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.oracles.properties import Element


def scores(logits: Tensor) -> Tensor:
    """What is fuzzed: the discriminator's raw scores [batch, 1] themselves."""
    return logits


def first_scores() -> Tensor:
    """Where the search starts: ordinary scores between 0 and 1."""
    return torch.rand(16, 1, generator=torch.Generator().manual_seed(0))


def loss(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Cross-entropy against "fake" on the sigmoid, with a small constant in the logarithm as in old GAN code."""
    return {"loss": -(1 - outputs.sigmoid() + 1e-12).log().squeeze(1)}


def saturated(element: Element) -> bool:
    """The predicate of TensorFuzz's GAN example: a loss that cannot be trained away."""
    loss, gradient = element.metadata["loss"], element.metadata["loss.grad"]
    return bool(loss > 0.1 and abs(gradient) < 0.0001)
