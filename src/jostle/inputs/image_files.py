"""Image files as arrays."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from jostle.errors import SeedsRefused
from jostle.foreign import Crash, attempt
from jostle.untrusted.files import opened_bounded

# Not every format that Pillow recognises: it hands some, whatever the name of the file, to other programs.
FORMATS = ("PNG", "JPEG", "BMP", "DIB", "GIF", "TIFF", "WEBP", "PPM")
IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"}
GREY = ("1", "L")  # modes of images


def image_files(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in IMAGES)
    if not files:
        raise SeedsRefused(f"seed folder {folder} holds no images: put some there ({', '.join(sorted(IMAGES))})")
    return files


def channels_of(files: list[Path]) -> int:
    """1 if all images are grey, else 3."""
    return 1 if all(_opened(file).mode in GREY for file in files) else 3


def shares_of(files: list[Path], channels: int | None, size: tuple[int, int] | None) -> Tensor:
    """Images [files, channels, height, width] from 0 to 1; without channels, grey if all are grey, else colour."""
    images = [_loaded(file) for file in files]
    channels = channels or (1 if all(image.mode in GREY for image in images) else 3)
    arrays = [_array(image, channels, size) for image in images]
    for file, array in zip(files, arrays, strict=True):
        if array.shape != arrays[0].shape:
            raise SeedsRefused(
                f"images differ in size: {files[0].name} is {_size(arrays[0])}, {file.name} is {_size(array)}; "
                f"give --size HEIGHT,WIDTH to resize all"
            )
    return torch.from_numpy(np.stack(arrays)).float() / 255


def _size(array: np.ndarray[Any, Any]) -> str:
    return f"{array.shape[1]}×{array.shape[2]}"


def _loaded(file: Path) -> Image.Image:
    image = _opened(file, whole=True)
    if image.mode[0] in "IF":  # which Pillow would clip to 8 bits, not scale
        raise SeedsRefused(f"{file} has more than 8 bits per channel: convert it to 8 bits, or give an .npy file")
    return image


def _opened(file: Path, whole: bool = False) -> Image.Image:
    """The image, its pixels read too if it is wanted whole."""
    image = attempt(partial(_decoded, file, whole))
    if isinstance(image, Crash):
        reason = image.message or image.error
        raise SeedsRefused(f"{file} is not a readable image: remove or replace it ({reason})")
    return image


def _decoded(file: Path, whole: bool) -> Image.Image:
    content = opened_bounded(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a decoder thinks of the file
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        image = Image.open(content, formats=FORMATS)
        if whole:
            image.load()
    return image


def _array(image: Image.Image, channels: int, size: tuple[int, int] | None) -> np.ndarray[Any, Any]:
    """uint8 [channels, height, width]"""
    image = image.convert("L" if channels == 1 else "RGB")
    if size is not None:
        image = image.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    pixels = np.asarray(image)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)
