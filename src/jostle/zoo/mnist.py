"""The MNIST digits that ship with Jostle, none of which the shipped networks were trained on."""

from importlib.resources import files

import numpy as np
import torch
from torch import Tensor


def mnist_sample() -> tuple[Tensor, Tensor]:
    """Held-out images [500, 1, 28, 28], float32 in 0..1, and int64 labels [500]; row i shows digit i % 10.

    They come from MNIST's 60,000 training images, so they never coincide with its 10,000 test images.
    """
    with (
        files("jostle.zoo").joinpath("data", "mnist_sample.npz").open("rb") as stored,
        np.load(stored, allow_pickle=False) as arrays,
    ):
        images = torch.from_numpy(arrays["images"])  # uint8 [500, 28, 28]
        labels = torch.from_numpy(arrays["labels"])  # uint8 [500]
    return images.unsqueeze(1).float() / 255, labels.long()
