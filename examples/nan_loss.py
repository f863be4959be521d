"""A digit classifier whose training loss is written carelessly: NaN for inputs that its data never holds.

    jostle fuzz examples/nan_loss.py:classifier --seeds jostle.zoo:mnist_sample --range=-1,1 \
        --metadata examples/nan_loss.py:loss --oracle nan --findings 1
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from jostle.zoo import mnist_sample


def careless_softmax(logits: Tensor) -> Tensor:
    """Overflows to infinity over infinity as soon as a logit exceeds 88."""
    return logits.exp() / logits.exp().sum(1, keepdim=True)


def careless_cross_entropy(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Zero times minus infinity, which is NaN, as soon as any other class's probability underflows to zero."""
    return -(nn.functional.one_hot(labels, 10) * probabilities.log()).sum(1)


def loss(inputs: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """What Jostle watches beside the outputs."""
    probabilities = careless_softmax(outputs)
    return {"softmax": probabilities, "loss": careless_cross_entropy(probabilities, labels)}


def untrained(seed: int) -> nn.Sequential:
    """784-200-100-10 with weights drawn from -0.25..0.25, as TensorFuzz's example draws them."""
    layers = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 100), nn.ReLU(), nn.Linear(100, 10)
    )
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in layers.named_parameters():
            weights.zero_() if name.endswith("bias") else weights.uniform_(-0.25, 0.25, generator=rng)
    return layers


def trained(images: Tensor, labels: Tensor, steps: int, rate: float = 0.01, seed: int = 0) -> nn.Sequential:
    """Plain stochastic gradient descent on the careless loss, in batches of 100."""
    model = untrained(seed)
    optimiser = torch.optim.SGD(model.parameters(), lr=rate)
    rng = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        rows = torch.randint(len(images), (100,), generator=rng)
        optimiser.zero_grad()
        careless_cross_entropy(careless_softmax(model(images[rows])), labels[rows]).mean().backward()
        optimiser.step()
    return model.eval()


def classifier() -> nn.Module:
    """Trained in a few seconds on the digits that ship with Jostle."""
    return trained(*mnist_sample(), steps=1500, rate=0.1)
