"""Moving images by affine maps, each by its own; volumes slice by slice, all slices by the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional

from jostle.domain import Domain
from jostle.lineage import Lineage, Untouched

# From each place of the result to a place of the image, x then y, measured in half sides from the middle.
UNMOVED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


class Border(StrEnum):
    """What comes in from beyond the edge of an image that is moved."""

    DARK = "dark"  # as dark as its darkest value
    EDGE = "edge"  # its outermost values go on
    REFLECT = "reflect"  # it is mirrored at its edge


IMAGE_LIKE = (3, 4)  # dimensions of images and of volumes
SAMPLED_BEYOND = {Border.DARK: "zeros", Border.EDGE: "border", Border.REFLECT: "reflection"}


def unmoved(count: int) -> Tensor:
    """Maps [count, 2, 3] that leave images where they are."""
    return torch.tensor(UNMOVED, dtype=torch.float32).repeat(count, 1, 1)


def are_moved(placements: Tensor) -> Tensor:
    """[batch] bool: which of the maps [batch, 2, 3] move anything."""
    return (placements != torch.tensor(UNMOVED, device=placements.device)).flatten(1).any(1)


@dataclass(frozen=True)
class Placements:
    """The lineage of images that mutators move: how each was moved on the way from its root (`place`)."""

    rows: Tensor  # [batch, 2, 3]
    border: Border = Border.DARK  # the same for all that a campaign moves

    @staticmethod
    def of(lineage: Lineage, border: Border = Border.DARK) -> Placements:
        """The placements of inputs of which some or none was ever moved; `border` is for those of which none was."""
        if isinstance(lineage, Untouched):
            return Placements(unmoved(lineage.count), border)
        if not isinstance(lineage, Placements):
            raise TypeError(f"{type(lineage).__name__} tells nothing of how images were moved")
        return lineage

    @property
    def moved(self) -> Tensor:
        return are_moved(self.rows)

    def with_rows(self, rows: Tensor) -> Placements:
        return Placements(rows, self.border)

    def untouched(self, count: int) -> Placements:
        return Placements(unmoved(count), self.border)

    def references(self, originals: Tensor) -> Tensor:
        """The roots, moved as the inputs were (DeepHunter, Algorithm 2)."""
        rows = self.moved.nonzero().squeeze(1)
        if not len(rows):
            return originals
        placed = place(originals[rows].float(), self.rows[rows], self.border)
        originals[rows] = placed if originals.is_floating_point() else placed.round().to(originals.dtype)
        return originals


def place(images: Tensor, placements: Tensor, border: Border = Border.DARK) -> Tensor:
    """Images [batch, channels, height, width] or volumes [batch, channels, depth, height, width], each by its map."""
    planes = images.flatten(1, -3)
    grid = _grid(planes, placements)
    if border is not Border.DARK:
        return _sampled(planes, grid, border).view_as(images)
    darkest = planes.flatten(1).amin(1).view(-1, 1, 1, 1)
    if not darkest.any():  # outside the image, sampling gives 0
        return _sampled(planes, grid, border).view_as(images)
    return _sampled(planes - darkest, grid, border).add_(darkest).view_as(images)


def place_masks(masks: Tensor, placements: Tensor, unknown: int) -> Tensor:
    """Whole numbers of pixels [batch, height, width], moved as their images are; what comes in is unknown."""
    shifted = (masks - unknown).float()[:, None]  # outside the image, sampling gives 0
    placed = functional.grid_sample(shifted, _grid(shifted, placements), mode="nearest", align_corners=False)
    return placed.squeeze(1).round().to(masks.dtype) + unknown


def place_boxes(boxes: Tensor, placements: Tensor) -> Tensor:
    """Boxes [batch, boxes, 4] as left, top, right, bottom in shares of the sides, moved as their images are.

    Of a box that was turned or sheared, the box that encloses it.
    """
    across, down = boxes[..., [0, 2, 0, 2]] * 2 - 1, boxes[..., [1, 1, 3, 3]] * 2 - 1  # [batch, boxes, corners]
    a, b, right, c, d, below = placements.flatten(1)[:, :, None, None].unbind(1)  # [batch, 1, 1]
    size = a * d - b * c
    x = (d * (across - right) - b * (down - below)) / size
    y = (a * (down - below) - c * (across - right)) / size
    return (torch.stack([x.amin(2), y.amin(2), x.amax(2), y.amax(2)], 2) + 1) / 2


def come_in(boxes: Tensor, placements: Tensor) -> Tensor:
    """[batch, boxes] bool: of boxes as `place_boxes` gives them, those with their middle in what came in."""
    x, y = (boxes[..., :2] + boxes[..., 2:] - 1).unbind(2)  # in half sides from the middle
    a, b, right, c, d, below = placements.flatten(1)[:, :, None].unbind(1)  # [batch, 1]
    return torch.maximum((a * x + b * y + right).abs(), (c * x + d * y + below).abs()) > 1


def _sampled(planes: Tensor, grid: Tensor, border: Border) -> Tensor:
    return functional.grid_sample(planes, grid, padding_mode=SAMPLED_BEYOND[border], align_corners=False)


def _grid(planes: Tensor, placements: Tensor) -> Tensor:
    """[batch, height, width, 2] where in its image each pixel of the result is taken from.

    One product of matrices would be faster still, but rounds otherwise in batches of another size.
    """
    height, width = planes.shape[2:]
    across, down = _centres(height, width)
    right, below, shift = placements.to(planes)[..., None].unbind(2)  # [batch, 2, 1]
    places = (below * down.to(planes)).add_(shift).add_(right * across.to(planes))  # [batch, 2, pixels]
    return places.view(-1, 2, height, width).permute(0, 2, 3, 1)


@lru_cache(8)
def _centres(height: int, width: int) -> tuple[Tensor, Tensor]:
    """x and y [pixels] of every pixel's centre, from -1 to 1 over the whole side."""
    across, down = ((torch.arange(side) * 2 + 1) / side - 1 for side in (width, height))
    return across.repeat(height), down.repeat_interleave(width)


@runtime_checkable
class Moving(Protocol):
    """A domain whose inputs are moved otherwise than images."""

    def placed(self, rows: Tensor, border: Border) -> Lineage:
        """The lineage with these placements [batch, 2, 3]."""


def placed(domain: Domain | None, rows: Tensor, border: Border = Border.DARK) -> Lineage:
    """The lineage with these placements [batch, 2, 3] of inputs of a domain."""
    return domain.placed(rows, border) if isinstance(domain, Moving) else Placements(rows, border)


def border_of(lineage: Lineage) -> Border:
    """What comes in where images are moved; of a lineage that knows nothing of images, as if all was dark there."""
    border: Border = getattr(lineage, "border", Border.DARK)
    return border
