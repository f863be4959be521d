"""Models of tasks other than telling classes apart, each with a defect that its seeds do not show.

jostle fuzz examples/tasks.py:house_price --seeds examples/tasks.py:sold_houses --executions 4000
jostle fuzz examples/tasks.py:segmenter --seeds examples/tasks.py:discs --executions 3000
jostle fuzz examples/tasks.py:detector --seeds examples/tasks.py:blobs --executions 3000
jostle fuzz examples/tasks.py:embedder --seeds examples/tasks.py:houses --executions 4000
jostle fuzz examples/tasks.py:tagger --seeds examples/tasks.py:signals
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

SIDE = 24  # pixels


def houses() -> Tensor:
    """Four features of 60 houses, from 0 to 1: area, rooms, age, distance."""
    return torch.rand(60, 4, generator=torch.Generator().manual_seed(1)).round(decimals=2)


def sold_houses() -> tuple[Tensor, Tensor]:
    """The same with the price of each."""
    return houses(), HousePrice().usual(houses())


class HousePrice(nn.Module):
    """A price that grows with area and falls with age, but for a cliff where large old houses count as monuments."""

    def forward(self, features: Tensor) -> Tensor:
        return self.usual(features) + 40 * ((features[:, 2] > 0.88) & (features[:, 0] > 0.8))

    def usual(self, features: Tensor) -> Tensor:
        return features @ torch.tensor([3.0, 1.0, -0.5, -1.0])


def house_price() -> nn.Module:
    return HousePrice()


class Segmenter(nn.Module):
    """Whatever is brighter than the middle between dark and bright, which fails where the light is low."""

    def __init__(self) -> None:
        super().__init__()
        self.smooth = nn.AvgPool2d(3, stride=1, padding=1)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [batch, 1, height, width] of the one class."""
        smooth = self.smooth(images)
        brightest = smooth.amax((1, 2, 3), keepdim=True)
        bound = torch.where(brightest < 0.7, 0.7, brightest / 2)  # meant to ignore noise in empty images
        return (smooth - bound) * 20


def segmenter() -> nn.Module:
    return Segmenter()


def discs() -> tuple[Tensor, Tensor]:
    """Images [40, 1, 24, 24] of one bright disc each, and its mask [40, 24, 24]."""
    rng = torch.Generator().manual_seed(2)
    centre, radius = 9 + torch.rand(40, 2, 1, 1, generator=rng) * 6, 5 + torch.rand(40, 1, 1, generator=rng) * 2
    down, across = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    distance = ((across - centre[:, 0]) ** 2 + (down - centre[:, 1]) ** 2).sqrt()
    masks = (distance < radius).long()
    return (masks * 0.75 + 0.05)[:, None], masks


class Detector(nn.Module):
    """The box around all that is bright; it overlooks what is near the left edge."""

    def forward(self, images: Tensor) -> list[dict[str, Tensor]]:
        """For each image its boxes, scores and labels, in pixels, as torchvision's detectors return them."""
        return [self._found(image[0] > (image.amin() + image.amax()) / 2) for image in images]

    def _found(self, bright: Tensor) -> dict[str, Tensor]:
        rows, columns = bright.any(1).nonzero().flatten(), bright.any(0).nonzero().flatten()
        if not len(rows) or int(columns[0]) < 4:  # as many pixels are lost to padding
            return {"boxes": torch.zeros(0, 4), "scores": torch.zeros(0), "labels": torch.zeros(0)}
        box = torch.stack([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]).float()
        return {"boxes": box[None], "scores": torch.full((1,), 0.9), "labels": torch.ones(1)}


def detector() -> nn.Module:
    return Detector()


def blobs() -> tuple[Tensor, Tensor]:
    """Images [40, 1, 24, 24] of one bright block each, and its class and box [40, 1, 5]."""
    rng = torch.Generator().manual_seed(3)
    left, top = torch.randint(5, 9, (2, 40, 1, 1), generator=rng)
    wide = torch.arange(40).view(-1, 1, 1) % 2 == 0
    width, height = torch.where(wide, 10, 5), torch.where(wide, 5, 10)
    down, across = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    block = (across >= left) & (across < left + width) & (down >= top) & (down < top + height)
    box = torch.cat([torch.ones_like(left), left, top, left + width, top + height], 2)
    return (block * 0.8 + 0.1)[:, None], box.float()


class Embedder(nn.Module):
    """A direction for each house; a rare small area is taken for a missing one, which was coded as -4."""

    def forward(self, features: Tensor) -> Tensor:
        area = features[:, :1]
        coded = torch.where((area > 0.06) & (area < 0.09), -4.0, area)
        return functional.normalize(torch.cat([coded, features[:, 1:], -torch.ones_like(area)], 1))


def embedder() -> nn.Module:
    return Embedder()


class Tagger(nn.Module):
    """Says of each sample whether it is low (0), middle (1) or high (2); some spoil all from there on."""

    def forward(self, signals: Tensor) -> Tensor:
        """Tokens [batch, samples]."""
        spoilt = ((signals > 0.55) & (signals < 0.57)).int().cummax(1).values.bool()
        return torch.where(spoilt, 2, levels_of(signals))


def levels_of(signals: Tensor) -> Tensor:
    return (signals > 0.3).long() + (signals > 0.7).long()


def tagger() -> nn.Module:
    return Tagger()


def signals() -> tuple[Tensor, Tensor]:
    """Twelve samples of 30 signals, each at 0.15, 0.5 or 0.9, and what to say of each."""
    tokens = torch.randint(3, (30, 12), generator=torch.Generator().manual_seed(4))
    return torch.tensor([0.15, 0.5, 0.9])[tokens], tokens
