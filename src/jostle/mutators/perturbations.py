"""From a gradient to a change of the image: as it is, or as reality would change it (DLFuzz §3.2, DeepXplore §6.2).

Each function takes gradients [rows, ...] and the place that each row drew at its start, [rows, 2] in 0..1, and gives
directions [rows, ...] of any length; a direction of zeros is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.inputs.distances import columns

Perturbation = Callable[[Tensor, Tensor, torch.Generator], Tensor]

BOX = 10 / 28  # of either side, as DeepXplore's on MNIST
PATCH = 6 / 28
PATCHES = 6


def plain(gradient: Tensor, places: Tensor, rng: torch.Generator) -> Tensor:
    """Along the gradient."""
    return gradient


def sign(gradient: Tensor, places: Tensor, rng: torch.Generator) -> Tensor:
    """Every value by the same amount, the way the gradient points."""
    return gradient.sign()


def light(gradient: Tensor, places: Tensor, rng: torch.Generator) -> Tensor:
    """All values together, brighter or darker."""
    return columns(gradient.flatten(1).mean(1), gradient).expand_as(gradient)


def occlusion(gradient: Tensor, places: Tensor, rng: torch.Generator) -> Tensor:
    """Along the gradient within one box, whose place each line of mutants draws at its start."""
    return gradient * _boxes(gradient, places, BOX)


def blackout(gradient: Tensor, places: Tensor, rng: torch.Generator) -> Tensor:
    """Darker in six small patches drawn anew each time, wherever that ascends."""
    direction = torch.zeros_like(gradient)
    for _ in range(PATCHES):
        patch = _boxes(gradient, torch.rand(len(gradient), 2, generator=rng), PATCH)
        darkens = (gradient * patch).flatten(1).sum(1) < 0
        direction[darkens] -= patch[darkens].expand_as(direction[darkens])
    return direction.clamp_(min=-1)


def _boxes(images: Tensor, places: Tensor, share: float) -> Tensor:
    """[rows, 1, height, width]: 1 within a box of that share of either side, at a place in 0..1."""
    inside = []
    for axis, side in enumerate(images.shape[2:]):
        wide = max(1, round(share * side))
        start = (places[:, axis] * (side - wide + 1)).long()[:, None]
        along = torch.arange(side)
        inside.append((along >= start) & (along < start + wide))
    return (inside[0][:, :, None] & inside[1][:, None, :])[:, None].to(images.dtype)


PERTURBATIONS: Mapping[str, Perturbation] = {
    "gradient": plain,
    "sign": sign,
    "light": light,
    "occlusion": occlusion,
    "blackout": blackout,
}
SPATIAL = ("occlusion", "blackout")  # need images [channels, height, width]
