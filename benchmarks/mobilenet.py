"""MobileNet 1.0 with random weights, layer for layer the one that DeepHunter measured.

Of its 38,904 neurons 36,880 are here: the two layers missing, of 1,024 and 1,000 neurons, only reshape.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import torch
from torch import nn

# Channels that each pair of a depthwise and a pointwise convolution leaves, and the step of the first.
PAIRS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
STEM = 32


def mobilenet() -> nn.Module:
    """Images [batch, 3, 224, 224] to probabilities [batch, 1000]; always the same weights."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(OrderedDict(_layers())).eval()


def _layers() -> Iterator[tuple[str, nn.Module]]:
    yield from _convolution("stem", nn.Conv2d(3, STEM, 3, 2, 1, bias=False))
    wide_in = STEM
    for number, (width, step) in enumerate(PAIRS, start=1):
        yield from _convolution(f"depth{number}", nn.Conv2d(wide_in, wide_in, 3, step, 1, groups=wide_in, bias=False))
        yield from _convolution(f"point{number}", nn.Conv2d(wide_in, width, 1, bias=False))
        wide_in = width
    yield "pool", nn.AdaptiveAvgPool2d(1)
    yield "dropout", nn.Dropout(1e-3)
    yield "scores", nn.Conv2d(wide_in, 1000, 1)
    yield "flat", nn.Flatten()
    yield "softmax", nn.Softmax(1)


def _convolution(name: str, convolution: nn.Conv2d) -> Iterator[tuple[str, nn.Module]]:
    yield f"{name}_conv", convolution
    yield f"{name}_norm", nn.BatchNorm2d(convolution.out_channels)
    yield f"{name}_relu", nn.ReLU6()
