"""Draws docs/pictures/transforms-*.png: the eight image transformations over their ranges, careful and the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_sample_image
from torch import Tensor

from jostle.inputs.geometry import place
from jostle.mutators.transform_ranges import careful
from jostle.mutators.transforms import TRANSFORMS, Affine, Filter, Transform
from jostle.zoo import mnist_sample

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
COLUMNS = 7
SIDE = 112  # pixels of one picture
LEGEND = 96
CAPTION = 14
MOVING = ("scaling", "shearing", "rotation")  # whose range in the paper is much wider


def transformed(transform: Transform, image: Tensor, parameters: Tensor) -> Tensor:
    """The image [channels, height, width] by each of the parameters, as the mutator would change it."""
    images, rng = image.expand(len(parameters), *image.shape), torch.Generator().manual_seed(0)
    if isinstance(transform, Affine):
        return place(images, transform.movement(parameters, rng, image.shape[1] / image.shape[2]))
    if isinstance(transform, Filter):
        return transform.change(images, parameters, rng).clamp(0, 1)
    terms = parameters.view(-1, 1, 1, 1)
    return (images * terms if transform.scales else images + terms).clamp(0, 1)


def sheet(image: Tensor, transforms: Mapping[str, Transform]) -> Image.Image:
    """A row for each transformation, its parameter from the lowest to the highest."""
    page = Image.new("RGB", (LEGEND + COLUMNS * (SIDE + 4), len(transforms) * (SIDE + CAPTION + 6)), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default()
    for row, (name, transform) in enumerate(transforms.items()):
        top = row * (SIDE + CAPTION + 6)
        pen.text((4, top + SIDE // 2), name, fill="black", font=font)
        parameters = torch.linspace(transform.low, transform.high, COLUMNS)
        for column, picture in enumerate(transformed(transform, image, parameters)):
            left = LEGEND + column * (SIDE + 4)
            page.paste(drawn(picture), (left, top))
            pen.text((left, top + SIDE), f"{round(float(parameters[column]), 4):g}", fill="black", font=font)
    return page


def drawn(image: Tensor) -> Image.Image:
    pixels = (image.expand(3, -1, -1).permute(1, 2, 0) * 255).round().to(torch.uint8).contiguous()
    return Image.fromarray(pixels.numpy()).resize((SIDE, SIDE), Image.Resampling.NEAREST)


def flower() -> Tensor:
    """A colour photograph [3, 224, 224] in 0..1."""
    photo = Image.fromarray(np.asarray(load_sample_image("flower.jpg"))).crop((160, 0, 587, 427)).resize((224, 224))
    return torch.from_numpy(np.asarray(photo).copy()).permute(2, 0, 1).float() / 255


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    digit, photo = mnist_sample()[0][5], flower()
    sheets = {
        "digit": sheet(digit, careful(digit.shape)),
        "photo": sheet(photo, careful(photo.shape)),
        "digit-paper": sheet(digit, {name: TRANSFORMS[name] for name in MOVING}),
    }
    for name, page in sheets.items():
        page.quantize(128).save(FOLDER / f"transforms-{name}.png", optimize=True)
        print(FOLDER / f"transforms-{name}.png")


if __name__ == "__main__":
    main()
