"""The LeNets that DeepHunter's authors published, where a data folder holds them, else those that ship with Jostle."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import torch
from torch import Tensor, nn

from jostle.zoo import LeNet, lenet1, lenet4, lenet5

SHAPES = {"lenet1": ((4, 12), ()), "lenet4": ((6, 16), (84,)), "lenet5": ((6, 16), (120, 84))}
# Their Keras layers hold their activation, so these are the layers whose neurons DeepHunter counts.
LAYERS = "relu*,pool*,softmax"


def network(name: str, folder: Path | None) -> nn.Module:
    """A network that ends in softmax, as DeepHunter's do."""
    if folder is None:
        model = {"lenet1": lenet1, "lenet4": lenet4, "lenet5": lenet5}[name]()
    else:
        model = _published(name, folder / "lenets" / "deephunter" / f"{name}.h5")
    model.add_module("softmax", nn.Softmax(1))
    return model.eval()


def _published(name: str, path: Path) -> LeNet:
    channels, hidden = SHAPES[name]
    model = LeNet(channels, hidden, "valid")
    with h5py.File(path) as file:
        found = {}
        file["model_weights"].visititems(lambda _, item: found.update({item.name: item}))
        arrays = {key: np.asarray(item) for key, item in found.items() if isinstance(item, h5py.Dataset)}
    kernels = [arrays[key] for key in sorted(arrays) if key.endswith("kernel:0")]
    biases = [arrays[key] for key in sorted(arrays) if key.endswith("bias:0")]
    layers = [layer for layer in model.children() if isinstance(layer, nn.Conv2d | nn.Linear)]
    for layer, kernel, bias in zip(layers, kernels, biases, strict=True):
        layer.load_state_dict({"weight": _weight(layer, kernel, channels[1]), "bias": torch.from_numpy(bias)})
    return model


def _weight(layer: nn.Module, kernel: np.ndarray, planes: int) -> Tensor:
    """Keras keeps channels last, also in what its flattening gives to the first dense layer."""
    if kernel.ndim == 4:
        return torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy())
    if kernel.shape[0] == 16 * planes:
        kernel = kernel.reshape(4, 4, planes, -1).transpose(2, 0, 1, 3).reshape(16 * planes, -1)
    return torch.from_numpy(kernel.T.copy())


def published_seeds(folder: Path) -> Tensor:
    """DeepHunter's ten seeds [10, 1, 28, 28] in 0..1."""
    files = sorted((folder / "seeds" / "deephunter-10").glob("*.npy"))
    return torch.stack([torch.from_numpy(np.load(file)[0]).permute(2, 0, 1).float() / 255 for file in files])
