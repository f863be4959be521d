"""Moving images by affine maps, each by its own."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# From each place of the result to a place of the image, x then y, measured in half sides from the middle.
UNMOVED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def unmoved(count: int) -> Tensor:
    """Maps [count, 2, 3] that leave images where they are."""
    return torch.tensor(UNMOVED).expand(count, 2, 3)


def are_moved(placements: Tensor) -> Tensor:
    """[batch] bool: which of the maps [batch, 2, 3] move anything."""
    return (placements != torch.tensor(UNMOVED, device=placements.device)).flatten(1).any(1)


def place(images: Tensor, placements: Tensor) -> Tensor:
    """Images [batch, channels, height, width], each as its map places it; what comes in is as dark as its darkest."""
    height, width = images.shape[2:]
    across, down = _centres(width, images), _centres(height, images)[:, None]
    x, y = (
        placements[:, row, 0, None, None] * across
        + (placements[:, row, 1, None, None] * down + placements[:, row, 2, None, None])
        for row in (0, 1)
    )
    darkest = images.flatten(1).amin(1).view(-1, 1, 1, 1)
    grid = torch.stack([x, y], 3)
    if not darkest.any():  # outside the image, sampling gives 0
        return functional.grid_sample(images, grid, align_corners=False)
    return functional.grid_sample(images - darkest, grid, align_corners=False).add_(darkest)


def _centres(side: int, like: Tensor) -> Tensor:
    """Where the centres of pixels lie, from -1 to 1 over the whole side."""
    return (torch.arange(side, dtype=like.dtype, device=like.device) * 2 + 1) / side - 1
