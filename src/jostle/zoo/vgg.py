"""A VGG for CIFAR-10, narrow enough to be trained on two cores: six convolutions, each with batch normalisation."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from jostle.zoo.shipped_weights import shipped_weights

WIDTHS = ((16, 32), (48, 64), (96, 128))  # of the convolutions between two poolings
HIDDEN = 64
POOLED = 2  # side of what the last pooling leaves, so that smaller images can be trained on


class VGG(nn.Module):
    """Images [batch, 3, 32, 32] in 0..1 to logits [batch, 10], by children listed in the order they run."""

    def __init__(self) -> None:
        super().__init__()
        for name, layer in _layers():
            self.add_module(name, layer)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [batch, 10] for images [batch, 3, 32, 32]."""
        images = (images - 0.47) / 0.25  # CIFAR-10's mean and deviation, of all channels together
        for layer in self.children():
            images = layer(images)
        return images


def vgg8(pretrained: bool = True) -> VGG:
    """VGG with eight layers that have weights; accuracy 84.0 % on cifar10_sample(), 82.42 % on CIFAR-10 test."""
    if not pretrained:
        return VGG().eval()
    with torch.device("meta"):  # no weights are drawn, so torch's global random state stays as it was
        model = VGG()
    model.load_state_dict(shipped_weights("vgg8"), assign=True)
    return model.eval()


def _layers() -> Iterator[tuple[str, nn.Module]]:
    wide_in = 3
    for level, widths in enumerate(WIDTHS, start=1):
        for place, width in enumerate(widths, start=1):
            yield f"conv{level}_{place}", nn.Conv2d(wide_in, width, 3, padding=1, bias=False)
            yield f"norm{level}_{place}", nn.BatchNorm2d(width)
            yield f"relu{level}_{place}", nn.ReLU()
            wide_in = width
        yield f"pool{level}", nn.MaxPool2d(2) if level < len(WIDTHS) else nn.AdaptiveMaxPool2d(POOLED)
    yield "flatten", nn.Flatten()
    yield "fc1", nn.Linear(wide_in * POOLED**2, HIDDEN)
    yield "relu4", nn.ReLU()
    yield "fc2", nn.Linear(HIDDEN, 10)
