"""ResNet-50 with random weights: as many neurons as the one DeepHunter measured (94,056 and its three inputs)."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn


class Sum(nn.Module):
    """The two paths of a block added, as a layer of its own, so that its neurons can be watched."""

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return left + right


class Bottleneck(nn.Module):
    """Three convolutions around which the input is carried."""

    def __init__(self, wide_in: int, width: int, stride: int):
        super().__init__()
        self.path = nn.Sequential(
            *(nn.Conv2d(wide_in, width, 1, stride), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()),
            *(nn.Conv2d(width, 4 * width, 1), nn.BatchNorm2d(4 * width)),
        )
        self.carry: nn.Module = nn.Identity()
        if stride != 1 or wide_in != 4 * width:
            self.carry = nn.Sequential(nn.Conv2d(wide_in, 4 * width, 1, stride), nn.BatchNorm2d(4 * width))
        self.sum = Sum()
        self.relu = nn.ReLU()

    def forward(self, images: Tensor) -> Tensor:
        return self.relu(self.sum(self.path(images), self.carry(images)))


def resnet50() -> nn.Module:
    """Images [batch, 3, 224, 224] to scores [batch, 1000]; always the same weights."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(_layers()).eval()


def _layers() -> OrderedDict[str, nn.Module]:
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv=nn.Conv2d(3, 64, 7, 2, 3), norm=nn.BatchNorm2d(64), relu=nn.ReLU(), pool=nn.MaxPool2d(3, 2, 1)
    )
    wide_in = 64
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            layers[f"stage{stage}_{block}"] = Bottleneck(wide_in, width, stride)
            wide_in = 4 * width
    layers |= {"mean": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten(), "scores": nn.Linear(wide_in, 1000)}
    return layers


def photos() -> Tensor:
    """Sixteen smooth random pictures [16, 3, 224, 224] in 0..1: beside random weights, real ones add nothing."""
    rng = torch.Generator().manual_seed(0)
    coarse = torch.rand(16, 3, 14, 14, generator=rng)
    return nn.functional.interpolate(coarse, (224, 224), mode="bicubic").clamp(0, 1)
