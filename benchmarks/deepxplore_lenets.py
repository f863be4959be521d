"""The LeNets that DeepXplore's authors published and DLFuzz measured on, where a data folder holds them, else ours."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from deephunter_lenets import SHAPES
from jostle.zoo import LeNet, lenet1, lenet4, lenet5, mnist_sample

FILES = {"lenet1": "Model1.h5", "lenet4": "Model2.h5", "lenet5": "Model3.h5"}


def network(name: str, folder: Path | None) -> nn.Module:
    """A network that ends in softmax, as DeepXplore's do."""
    if folder is None:
        model: nn.Module = {"lenet1": lenet1, "lenet4": lenet4, "lenet5": lenet5}[name]()
    else:
        model = _published(name, folder / "lenets" / "deepxplore" / FILES[name])
    model.add_module("softmax", nn.Softmax(1))
    return model.eval()


def counted_layers(name: str) -> tuple[str, ...]:
    """The layers whose neurons the papers count."""
    return ("relu*", "pool*", f"fc{len(SHAPES[name][1]) + 1}", "softmax")


def _published(name: str, path: Path) -> LeNet:
    channels, hidden = SHAPES[name]
    model = LeNet(channels, hidden, "same")
    names = ["block1_conv1", "block2_conv1", *(f"fc{i + 1}" for i in range(len(hidden))), "before_softmax"]
    layers = [layer for layer in model.children() if isinstance(layer, nn.Conv2d | nn.Linear)]
    with h5py.File(path) as file:
        for key, layer in zip(names, layers, strict=True):
            kernel, bias = (np.asarray(file[f"{key}/{key}/{part}:0"]) for part in ("kernel", "bias"))
            layer.load_state_dict({"weight": _weight(kernel, channels[1]), "bias": torch.from_numpy(bias)})
    return model


def _weight(kernel: np.ndarray, planes: int) -> Tensor:
    """Keras keeps channels last, also in what its flattening gives to the first dense layer."""
    if kernel.ndim == 4:
        return torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy())
    if kernel.shape[0] == 49 * planes:
        kernel = kernel.reshape(7, 7, planes, -1).transpose(2, 0, 1, 3).reshape(49 * planes, -1)
    return torch.from_numpy(kernel.T.copy())


def seed_images(folder: Path | None, count: int, draw: int) -> tuple[Tensor, Tensor]:
    """So many of the 50 images that come with DLFuzz, [count, 1, 28, 28] in 0..1, and their labels [count]."""
    if folder is None:
        images, labels = mnist_sample()
    else:
        files = sorted((folder / "seeds" / "dlfuzz-50").glob("*.png"))
        images = torch.stack([torch.from_numpy(np.array(Image.open(file).convert("L")))[None] for file in files])
        images = images.float() / 255
        labels = torch.tensor([int(file.stem.split("_")[1]) for file in files])
    chosen = torch.randperm(len(images), generator=torch.Generator().manual_seed(draw))[:count]
    return images[chosen], labels[chosen]
