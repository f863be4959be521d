"""The LeNet-1, LeNet-4 and LeNet-5 that papers on testing neural networks measure against.

The accuracies are those of the shipped weights; MNIST test is its own 10,000 images.
"""

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor, nn

from jostle.zoo.shipped_weights import shipped_weights

Padding = Literal["valid", "same"]


class LeNet(nn.Module):
    """Images [batch, 1, 28, 28] in 0..1 to logits [batch, 10], by children listed in the order they run."""

    def __init__(self, channels: tuple[int, int], hidden: tuple[int, ...], padding: Padding) -> None:
        super().__init__()
        side = 4 if padding == "valid" else 7  # of the square that two convolutions and poolings leave
        layers = [*_convolutions(channels, padding), *_dense(channels[1] * side**2, hidden)]
        for name, layer in layers:
            self.add_module(name, layer)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [batch, 10] for images [batch, 1, 28, 28]."""
        for layer in self.children():
            images = layer(images)
        return images


def lenet1(padding: Padding = "valid", pretrained: bool = True) -> LeNet:
    """LeNet-1 (4, 12 channels); accuracy 97.8 % on mnist_sample(), 98.61 % on MNIST test."""
    return _lenet("lenet1", (4, 12), (), padding, pretrained)


def lenet4(padding: Padding = "valid", pretrained: bool = True) -> LeNet:
    """LeNet-4 (6, 16 channels, dense 84); accuracy 98.2 % on mnist_sample(), 98.69 % on MNIST test."""
    return _lenet("lenet4", (6, 16), (84,), padding, pretrained)


def lenet5(padding: Padding = "valid", pretrained: bool = True) -> LeNet:
    """LeNet-5 (6, 16 channels, dense 120, 84); accuracy 98.6 % on mnist_sample(), 98.71 % on MNIST test."""
    return _lenet("lenet5", (6, 16), (120, 84), padding, pretrained)


def _convolutions(channels: tuple[int, int], padding: Padding) -> Iterator[tuple[str, nn.Module]]:
    for i, (wide_in, wide_out) in enumerate(zip((1, channels[0]), channels, strict=True), start=1):
        yield f"conv{i}", nn.Conv2d(wide_in, wide_out, kernel_size=5, padding=padding)
        yield f"relu{i}", nn.ReLU()
        yield f"pool{i}", nn.MaxPool2d(2)
    yield "flatten", nn.Flatten()


def _dense(features: int, hidden: tuple[int, ...]) -> Iterator[tuple[str, nn.Module]]:
    for i, width in enumerate(hidden, start=1):
        yield f"fc{i}", nn.Linear(features, width)
        yield f"relu{i + 2}", nn.ReLU()  # relu1 and relu2 follow the convolutions
        features = width
    yield f"fc{len(hidden) + 1}", nn.Linear(features, 10)


def _lenet(
    name: str,
    channels: tuple[int, int],
    hidden: tuple[int, ...],
    padding: Padding,
    pretrained: bool,
) -> LeNet:
    if not pretrained:
        return LeNet(channels, hidden, padding).eval()
    if padding != "valid":
        raise ValueError(f"padding={padding!r} has no shipped weights: use 'valid' or pretrained=False")
    with torch.device("meta"):  # no weights are drawn, so torch's global random state stays as it was
        model = LeNet(channels, hidden, padding)
    model.load_state_dict(shipped_weights(name), assign=True)
    return model.eval()
