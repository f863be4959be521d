"""Pictures in sheets are the pictures that were put in."""

from __future__ import annotations

import base64
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from jostle.report.contents import Picture, SheetImage
from jostle.report.sheets import HEIGHT, LOSSLESS, WIDTH, Sheets, shrunk


def opened(sheet: SheetImage) -> np.ndarray:
    kind, content = sheet.source.split(",")
    assert kind in ("data:image/png;base64", "data:image/webp;base64")
    return np.asarray(Image.open(BytesIO(base64.b64decode(content))).convert("RGB"))


def place(sheets: list[np.ndarray], picture: Picture) -> np.ndarray:
    rows = slice(picture.y, picture.y + picture.height)
    return sheets[picture.sheet][rows, picture.x : picture.x + picture.width]


def test_every_picture_lies_where_it_was_said_to_lie(rng: torch.Generator) -> None:
    sizes = [(28, 28), (64, 30), (28, 28), (5, 200), (192, 192)] * 60
    pictures = [torch.randint(0, 256, (3, *size), generator=rng, dtype=torch.uint8) for size in sizes]
    sheets = Sheets()
    places = [sheets.add(picture, small=bool(number % 2)) for number, picture in enumerate(pictures)]
    encoded = sheets.encoded()
    images = [opened(sheet) for sheet in encoded]
    assert len(images) > 2
    for sheet, image in zip(encoded, images, strict=True):
        assert image.shape == (sheet.height, sheet.width, 3) and sheet.width == WIDTH and sheet.height <= HEIGHT
    for picture, where in zip(pictures, places, strict=True):
        assert np.array_equal(place(images, where), picture.permute(1, 2, 0).numpy())


def test_beyond_some_size_pictures_lose_detail_but_stay_where_they_are() -> None:
    sheets = Sheets()
    grey = torch.full((3, 100, 100), 100, dtype=torch.uint8)
    places = [sheets.add(grey) for _ in range(LOSSLESS // 10_000 + 10)]
    images = [opened(sheet) for sheet in sheets.encoded()]
    assert all(abs(place(images, where).astype(int) - 100).max() < 8 for where in places[:: len(places) // 7])


@pytest.mark.parametrize(("size", "small"), [((28, 28), (28, 28)), ((400, 200), (40, 20)), ((3000, 1), (40, 1))])
def test_large_pictures_are_shrunk_and_small_ones_stay(size: tuple[int, int], small: tuple[int, int]) -> None:
    assert shrunk(torch.zeros(3, *size, dtype=torch.uint8), 40).shape == (3, *small)
