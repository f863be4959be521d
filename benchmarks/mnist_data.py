"""Full MNIST where a data folder is given, else the images that ship with the package."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from jostle.zoo import mnist_sample


def data_folder(option: str | None) -> Path | None:
    """The folder from `--data` or JOSTLE_DATA, None if neither is given."""
    named = option or os.environ.get("JOSTLE_DATA")
    return Path(named) if named else None


def training_images(folder: Path | None) -> tuple[Tensor, Tensor, str]:
    """Images [n, 1, 28, 28] in 0..1, labels [n], and a line that says which data these are."""
    if folder is None:
        return *mnist_sample(), "the 500 MNIST images that ship with Jostle (give --data for all)"
    return *read_idx(folder / "mnist", "train"), "the 60,000 MNIST training images"


def held_out_images(folder: Path | None) -> tuple[Tensor, Tensor, str]:
    """Images that no shipped network was trained on, labels, and a line that says which these are."""
    if folder is None:
        return *mnist_sample(), "the 500 MNIST images that ship with Jostle (give --data for the test set)"
    return *read_idx(folder / "mnist", "t10k"), "the 10,000 MNIST test images"


def read_idx(folder: Path, part: str) -> tuple[Tensor, Tensor]:
    images = np.frombuffer(gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    pixels = torch.from_numpy(images.reshape(-1, 1, 28, 28).copy()).float() / 255
    return pixels, torch.from_numpy(labels.astype(np.int64))
