"""The ResNet-20 for CIFAR-10 that DeepHunter tests, layer for layer as Keras builds it: 2,570 neurons of 70 layers.

Its convolutions have biases, and its two projections have no batch normalisation after them.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from jostle.zoo.shipped_weights import shipped_weights

Stage = Literal["A", "B", "C"]

WIDTHS = (16, 32, 64)
BLOCKS_PER_WIDTH = 3


class Sum(nn.Module):
    """The two paths of a block added, as a layer of its own, so that its neurons can be watched."""

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Both added up [batch, channels, height, width]."""
        return left + right


class BasicBlock(nn.Module):
    """Two convolutions around which the input is carried, by a projection where its shape changes."""

    def __init__(self, wide_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(wide_in, width, 3, stride, padding=1)
        self.norm1 = nn.BatchNorm2d(width)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(width)
        self.carry = nn.Identity() if wide_in == width else nn.Conv2d(wide_in, width, 1, stride)
        self.sum = Sum()
        self.relu2 = nn.ReLU()

    def forward(self, images: Tensor) -> Tensor:
        """Planes [batch, width, height / stride, width / stride]."""
        path = self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(images)))))
        added: Tensor = self.relu2(self.sum(path, self.carry(images)))
        return added


class ResNet20(nn.Module):
    """Images [batch, 3, 32, 32] in 0..1 to logits [batch, 10], by children listed in the order they run."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, WIDTHS[0], 3, padding=1)
        self.norm = nn.BatchNorm2d(WIDTHS[0])
        self.relu = nn.ReLU()
        wide_in = WIDTHS[0]
        for level, width in enumerate(WIDTHS, start=1):
            for block in range(1, BLOCKS_PER_WIDTH + 1):
                self.add_module(f"block{level}_{block}", BasicBlock(wide_in, width, 1 if wide_in == width else 2))
                wide_in = width
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(wide_in, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [batch, 10] for images [batch, 3, 32, 32]."""
        images = (images - 0.47) / 0.25  # CIFAR-10's mean and deviation, of all channels together
        for layer in self.children():
            images = layer(images)
        return images


def resnet20(stage: Stage = "C", pretrained: bool = True) -> ResNet20:
    """ResNet-20 after one of three stages of its training, the best C, as DeepHunter names them.

    Accuracy of A, B and C: 61.5, 79.5 and 89.5 % on cifar10_sample(), 63.22, 74.95 and 86.82 % on CIFAR-10 test.
    """
    if not pretrained:
        return ResNet20().eval()
    with torch.device("meta"):  # no weights are drawn, so torch's global random state stays as it was
        model = ResNet20()
    model.load_state_dict(shipped_weights(f"resnet20_{stage.lower()}"), assign=True)
    return model.eval()
