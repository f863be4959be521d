"""Moving images by affine maps, each by its own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from jostle.lineage import Lineage, Untouched

# From each place of the result to a place of the image, x then y, measured in half sides from the middle.
UNMOVED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def unmoved(count: int) -> Tensor:
    """Maps [count, 2, 3] that leave images where they are."""
    return torch.tensor(UNMOVED).repeat(count, 1, 1)


def are_moved(placements: Tensor) -> Tensor:
    """[batch] bool: which of the maps [batch, 2, 3] move anything."""
    return (placements != torch.tensor(UNMOVED, device=placements.device)).flatten(1).any(1)


@dataclass(frozen=True)
class Placements:
    """The lineage of images that mutators move: how each was moved on the way from its root (`place`)."""

    rows: Tensor  # [batch, 2, 3]

    @staticmethod
    def of(lineage: Lineage) -> Placements:
        """The placements of inputs of which some or none was ever moved."""
        if isinstance(lineage, Untouched):
            return Placements(unmoved(lineage.count))
        if not isinstance(lineage, Placements):
            raise TypeError(f"{type(lineage).__name__} tells nothing of how images were moved")
        return lineage

    @property
    def moved(self) -> Tensor:
        return are_moved(self.rows)

    def with_rows(self, rows: Tensor) -> Placements:
        return Placements(rows)

    def untouched(self, count: int) -> Placements:
        return Placements(unmoved(count))

    def references(self, originals: Tensor) -> Tensor:
        """The roots, moved as the inputs were (DeepHunter, Algorithm 2)."""
        rows = self.moved.nonzero().squeeze(1)
        if not len(rows):
            return originals
        placed = place(originals[rows].float(), self.rows[rows])
        originals[rows] = placed if originals.is_floating_point() else placed.round().to(originals.dtype)
        return originals


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
