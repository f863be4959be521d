"""Sheets of pictures: many small images in one, so that a page with thousands opens at once."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from io import BytesIO

import torch
from PIL import Image
from torch import Tensor

from jostle.report.contents import Picture, SheetImage

WIDTH = 1024  # pixels of a sheet
HEIGHT = 1024
LOSSLESS = 3_000_000  # pixels in all sheets of a kind up to which nothing is lost; beyond, a mail would be too large
QUALITY = 70


@dataclass
class Sheet:
    """One image that pictures are put into, row by row."""

    image: Image.Image
    small: bool  # it holds thumbnails
    end: int = 0  # where the next row begins


@dataclass
class Sheets:
    """Takes pictures, and puts those of one size side by side in rows; thumbnails have sheets of their own."""

    _sheets: list[Sheet] = field(default_factory=list)
    _rows: dict[tuple[int, int, bool], tuple[int, int, int]] = field(default_factory=dict)  # sheet, next x, y
    _pixels: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})  # so far, of thumbnails and others

    def add(self, picture: Tensor, small: bool = False) -> Picture:
        """Takes uint8 [3, height, width], which must fit into a sheet."""
        _, height, width = picture.shape
        sheet, x, y = self._rows.get((width, height, small), (-1, WIDTH, 0))
        if x + width > WIDTH:
            sheet, x, y = self._new_row(height, small)
        image = Image.fromarray(picture.permute(1, 2, 0).contiguous().numpy())
        self._sheets[sheet].image.paste(image, (x, y))
        self._rows[width, height, small] = (sheet, x + width, y)
        self._pixels[small] += width * height
        return Picture(sheet, x, y, width, height)

    def _new_row(self, height: int, small: bool) -> tuple[int, int, int]:
        """In the newest sheet of its kind that has room."""
        number = max((i for i, sheet in enumerate(self._sheets) if sheet.small == small), default=-1)
        if number < 0 or self._sheets[number].end + height > HEIGHT:
            number = len(self._sheets)
            self._sheets.append(Sheet(Image.new("RGB", (WIDTH, HEIGHT), "white"), small))
        sheet = self._sheets[number]
        y, sheet.end = sheet.end, sheet.end + height
        return number, 0, y

    @property
    def pixels(self) -> int:
        """Of all pictures that are no thumbnails."""
        return self._pixels[False]

    def encoded(self) -> list[SheetImage]:
        return [
            SheetImage(
                _data_url(one.image.crop((0, 0, WIDTH, one.end)), self._pixels[one.small] <= LOSSLESS), WIDTH, one.end
            )
            for one in self._sheets
        ]


def _data_url(image: Image.Image, lossless: bool) -> str:
    content = BytesIO()
    if lossless:
        grey = _is_grey(image)
        (image.convert("L") if grey else image).save(content, "png", optimize=True)
    else:
        image.save(content, "webp", quality=QUALITY, method=2)
    kind = "png" if lossless else "webp"
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"


def _is_grey(image: Image.Image) -> bool:
    red, green, blue = image.split()
    return red.tobytes() == green.tobytes() == blue.tobytes()


def shrunk(picture: Tensor, side: int) -> Tensor:
    """uint8 [3, height, width], no side longer than this; small ones stay as they are."""
    _, height, width = picture.shape
    scale = side / max(height, width)
    if scale >= 1:
        return picture
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    image = Image.fromarray(picture.permute(1, 2, 0).contiguous().numpy()).resize(size, Image.Resampling.BOX)
    return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(size[1], size[0], 3).permute(2, 0, 1)
