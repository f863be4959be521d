"""What other instances of a network say of the tests that were made on one: earlier in training, or in 16 bit."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from jostle.subjects.torch_twins import some_weights16

SHARES = {"1 %": 0.01, "50 %": 0.5, "100 %": 1.0}  # of the weights in 16 bit
DRAWS = 5  # of which weights those are
FAR = 10  # times the most that any score moved once all weights were quantised
AT_ONCE = 500  # inputs


@torch.inference_mode()
def scores(model: nn.Module, inputs: Tensor) -> Tensor:
    """[inputs, classes]"""
    return torch.cat([model(some) for some in inputs.split(AT_ONCE)])


def accuracy(model: nn.Module, inputs: Tensor, labels: Tensor) -> float | None:
    """Per cent that the model classifies rightly; None of no inputs."""
    return 100 * float((scores(model, inputs).argmax(1) == labels).float().mean()) if len(inputs) else None


def quantised(model: nn.Module, share: float, draw: int) -> nn.Module:
    """A copy with a random share of its weights rounded to 16 bit."""
    return some_weights16(copy.deepcopy(model), share, torch.Generator().manual_seed(draw))


def answered_otherwise(model: nn.Module, inputs: Tensor) -> dict[str, list[int]]:
    """How many inputs the model answers otherwise once a share of its weights is in 16 bit, for each draw of weights.

    Inputs whose two best scores lie farther apart than ten times what rounding all weights moves any score by are not
    run again on networks of which some weights are rounded.
    """
    if not len(inputs):
        return {share: [0] for share in SHARES}
    own, whole = scores(model, inputs), scores(quantised(model, 1.0, 0), inputs)
    best = own.topk(2, dim=1).values
    near = (best[:, 0] - best[:, 1] <= FAR * (whole - own).abs().max()).nonzero().squeeze(1)
    counts = {name: _drawn(model, share, inputs[near], own[near]) for name, share in SHARES.items() if share < 1}
    return {**counts, "100 %": [_unlike(whole, own)]}


def _drawn(model: nn.Module, share: float, inputs: Tensor, own: Tensor) -> list[int]:
    if not len(inputs):
        return [0] * DRAWS
    return [_unlike(scores(quantised(model, share, draw), inputs), own) for draw in range(DRAWS)]


def _unlike(others: Tensor, own: Tensor) -> int:
    return int((others.argmax(1) != own.argmax(1)).sum())


def distinct(inputs: Tensor) -> Tensor:
    """Every input [inputs, ...] once, in order."""
    first: dict[bytes, int] = {}
    for row, values in enumerate(inputs.flatten(1).numpy() if len(inputs) else ()):
        first.setdefault(values.tobytes(), row)
    return inputs[torch.tensor(list(first.values()), dtype=torch.int64)] if first else inputs


def right_for_all(models: Sequence[nn.Module], images: Tensor, labels: Tensor) -> Tensor:
    """Positions of the images that every model classifies rightly, as DeepHunter draws its seeds from."""
    right = torch.stack([scores(model, images).argmax(1) == labels for model in models]).all(0)
    return right.nonzero().squeeze(1)
