"""A generator and a discriminator, trained on digits for some seconds, whose loss hides two defects.

What is fuzzed is where the generator's images come from: its random numbers, of which training has seen the usual ones.

A loss that is large and yet teaches nothing, because its gradient vanishes where the discriminator is sure:

    jostle fuzz examples/gan_loss.py:gan --seeds examples/gan_loss.py:random_numbers --range=-8,8 --sigma 0.5 \
        --metadata examples/gan_loss.py:guarded_loss --gradients --oracle examples/gan_loss.py:saturated --findings 1

The same written without the constant in the logarithm, which is infinite there, and NaN in its gradient:

    jostle fuzz examples/gan_loss.py:gan --seeds examples/gan_loss.py:random_numbers --range=-8,8 --sigma 0.5 \
        --metadata examples/gan_loss.py:careless_loss --gradients --oracle nan --findings 1
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn

from jostle.oracles.properties import Element
from jostle.zoo import mnist_sample

NUMBERS = 16  # that the generator makes an image of
STEPS = 300
BATCH = 64
RATE = 0.002  # as high as people try who are in a hurry; the discriminator wins, and is surer than its loss can tell


@cache
def gan() -> nn.Module:
    """What is fuzzed: random numbers [batch, 16] to images, and these to raw scores [batch, 1] of being real."""
    images = mnist_sample()[0].flatten(1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        generator = nn.Sequential(nn.Linear(NUMBERS, 128), nn.ReLU(), nn.Linear(128, 784), nn.Sigmoid())
        discriminator = nn.Sequential(nn.Linear(784, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
        _train(generator, discriminator, images)
    return nn.Sequential(generator, discriminator).eval()


def _train(generator: nn.Module, discriminator: nn.Module, images: Tensor) -> None:
    """In turns: the discriminator tells digits from images that were made, and the generator learns to deceive it."""
    judging, making = (torch.optim.Adam(part.parameters(), RATE) for part in (discriminator, generator))
    real, fake = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    score = nn.functional.binary_cross_entropy_with_logits
    for _ in range(STEPS):
        digits, made = images[torch.randint(len(images), (BATCH,))], generator(torch.randn(BATCH, NUMBERS))
        judging.zero_grad()
        (score(discriminator(digits), real) + score(discriminator(made.detach()), fake)).backward()
        judging.step()
        making.zero_grad()
        score(discriminator(made), real).backward()
        making.step()


def random_numbers() -> Tensor:
    """Where the search starts: the numbers of 64 images, drawn as in training."""
    return torch.randn(64, NUMBERS, generator=torch.Generator().manual_seed(0))


def guarded_loss(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """The generator's loss, with a small constant in the logarithm as in old GAN code."""
    return {"loss": -(1 - (-outputs).sigmoid() + 1e-12).log().squeeze(1)}


def careless_loss(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """The same without the constant: the logarithm of 0 where the discriminator is sure that an image was made."""
    return {"loss": -(1 - (-outputs).sigmoid()).log().squeeze(1)}


def saturated(element: Element) -> bool:
    """The predicate of TensorFuzz's GAN example: a loss that cannot be trained away."""
    loss, gradient = element.metadata["loss"], element.metadata["loss.grad"]
    return bool(loss > 0.1 and (abs(gradient) < 0.0001).all())
