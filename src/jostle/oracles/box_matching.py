"""Which boxes are the same thing: overlaps, and pairs that fit best."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from jostle.task import MOST_FOUND

INSIDE = 0.5  # share of its area from which on one box lies in another


@dataclass(frozen=True)
class Detections:
    """What was found in each image; a box whose score is 0 is none."""

    boxes: Tensor  # [batch, boxes, 4] left, top, right, bottom
    scores: Tensor  # [batch, boxes]
    classes: Tensor  # [batch, boxes] int64

    def from_score(self, least: float) -> Detections:
        """The boxes with at least this score, the surest first; those of an image with fewer are filled up."""
        scores = self.scores.where((areas(self.boxes) > 0) & (self.scores >= least), 0)
        most = min(int((scores > 0).sum(1).amax()) if scores.numel() else 0, MOST_FOUND)
        order = scores.sort(dim=1, descending=True, stable=True).indices[:, :most]
        boxes = self.boxes.gather(1, order[:, :, None].expand(-1, -1, 4))
        return Detections(boxes, scores.gather(1, order), self.classes.gather(1, order)).filled_up(1)

    def filled_up(self, count: int) -> Detections:
        """The same with at least so many boxes, of which those that are added are none."""
        more = max(0, count - self.scores.shape[1])
        boxes = functional.pad(self.boxes, (0, 0, 0, more))
        return Detections(boxes, functional.pad(self.scores, (0, more)), functional.pad(self.classes, (0, more)))

    @staticmethod
    def where(chosen: Tensor, some: Detections, others: Detections) -> Detections:
        """Of some where chosen [batch], else of others."""
        count = max(some.scores.shape[1], others.scores.shape[1])
        some, others = some.filled_up(count), others.filled_up(count)
        return Detections(
            torch.where(chosen[:, None, None], some.boxes, others.boxes),
            torch.where(chosen[:, None], some.scores, others.scores),
            torch.where(chosen[:, None], some.classes, others.classes),
        )


def areas(boxes: Tensor) -> Tensor:
    """[...] of boxes [..., 4]; 0 where a side is not above 0."""
    return (boxes[..., 2] - boxes[..., 0]).clamp(min=0) * (boxes[..., 3] - boxes[..., 1]).clamp(min=0)


def intersections(some: Tensor, others: Tensor) -> Tensor:
    """[batch, some, others] areas that boxes [batch, some, 4] and [batch, others, 4] share."""
    first, second = some[:, :, None], others[:, None]
    low, high = torch.maximum(first[..., :2], second[..., :2]), torch.minimum(first[..., 2:], second[..., 2:])
    return (high - low).clamp(min=0).prod(3)


def overlaps(some: Tensor, others: Tensor) -> Tensor:
    """[batch, some, others] intersection over union, 0 of boxes without area."""
    shared = intersections(some, others)
    union = areas(some)[:, :, None] + areas(others)[:, None] - shared
    return torch.where(union > 0, shared / union, 0)


def inside(boxes: Tensor, others: Tensor, counted: Tensor) -> Tensor:
    """[batch, boxes] bool: which boxes lie mostly in one of the others that are counted [batch, others]."""
    shared = intersections(boxes, others) >= INSIDE * areas(boxes)[:, :, None]
    return (shared & counted[:, None] & (areas(boxes) > 0)[:, :, None]).any(2)


def matched(fits: Tensor) -> Tensor:
    """[batch, some] each one's partner among the others or -1, for how well pairs fit [batch, some, others].

    The best pair is taken first, and neither of it again; what fits below zero is no pair.
    """
    fits, others = fits.clone(), fits.shape[2]
    partners = torch.full(fits.shape[:2], -1)
    for _ in range(min(fits.shape[1:])):
        best, pair = fits.flatten(1).max(1)
        rows = (best >= 0).nonzero().squeeze(1)
        if not len(rows):
            break
        one, other = pair[rows] // others, pair[rows] % others
        partners[rows, one] = other
        fits[rows, one] = -1
        fits[rows, :, other] = -1
    return partners


@dataclass(frozen=True)
class Pairs:
    """Boxes that were due, and those that were seen instead.

    A box vanished or appeared only if not even a faint one is there to make a pair with.
    """

    due: Detections
    seen: Detections
    partners: Tensor  # [batch, due] positions among those seen, -1 for none
    sure: Tensor  # [batch, due] bool: those that must be seen
    seen_sure: Tensor  # [batch, seen] bool: those that must have been due

    @staticmethod
    def of(due: Detections, certain: Tensor, seen: Detections, bound: float, confidence: float) -> Pairs:
        """Pairs that overlap by the bound: sure ones before others, then those of one class, then those that fit best.

        Those that are not certain [batch, due] may be seen or not.
        """
        sure, seen_sure = certain & (due.scores >= confidence), seen.scores >= confidence
        overlap, alike = overlaps(due.boxes, seen.boxes), due.classes[:, :, None] == seen.classes[:, None]
        there = (due.scores > 0)[:, :, None] & (seen.scores > 0)[:, None] & (overlap >= bound)
        fits = torch.where(there, overlap + alike + 2 * (sure[:, :, None] & seen_sure[:, None]), -1.0)
        return Pairs(due, seen, matched(fits), sure, seen_sure)

    @property
    def paired(self) -> Tensor:
        """[batch, due] bool"""
        return self.partners >= 0

    @property
    def taken_for(self) -> Tensor:
        """[batch, due] the class of each one's partner."""
        return self.seen.classes.gather(1, self.partners.clamp(min=0))

    @property
    def changed(self) -> Tensor:
        """[batch, due] bool: sure before and after, and of another class."""
        still_sure = self.seen_sure.gather(1, self.partners.clamp(min=0))
        return self.sure & self.paired & still_sure & (self.taken_for != self.due.classes)

    @property
    def vanished(self) -> Tensor:
        """[batch, due] bool"""
        return self.sure & ~self.paired

    @property
    def alone(self) -> Tensor:
        """[batch, seen] bool: sure, and nobody's partner."""
        taken = (self.partners[:, :, None] == torch.arange(self.seen.scores.shape[1])).any(1)
        return self.seen_sure & ~taken
