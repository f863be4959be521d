"""Pictures of image-like inputs."""

from __future__ import annotations

from functools import cache

import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

CHANNELS = (1, 3)
SMALLEST_SIDE = 140  # pixels; smaller images are enlarged
GAP = 4
CAPTION = 14  # pixels of height


def picture_of(input: Tensor, reference: Tensor, caption: str = "seed") -> Image.Image | None:
    """Reference, change and mutant side by side; None for inputs [channels, height, width] that are no image."""
    if input.ndim != 3 or input.shape[0] not in CHANNELS or not input.isfinite().all():
        return None
    input, reference = input.float(), reference.float()
    low, high = min(input.min(), reference.min()), max(input.max(), reference.max())
    change = input - reference
    reach = change.abs().max().clamp(min=1e-12)
    panels = [_grey(reference, low, high), _grey(change, -reach, reach), _grey(input, low, high)]
    gap = torch.full((3, panels[0].shape[1], max(1, GAP * panels[0].shape[2] // SMALLEST_SIDE)), 255, dtype=torch.uint8)
    strip = torch.cat([panels[0], gap, panels[1], gap, panels[2]], 2).permute(1, 2, 0).contiguous()
    image = Image.fromarray(strip.numpy())
    scale = max(1, SMALLEST_SIDE // max(input.shape[1:]))
    enlarged = image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST)
    return _captioned(enlarged, (caption, f"change, at most {float(reach):.3g}", "mutant"))


def _captioned(strip: Image.Image, captions: tuple[str, ...]) -> Image.Image:
    """The strip with a line of words below, one for each of its panels."""
    framed = Image.new("RGB", (strip.width, strip.height + CAPTION), "white")
    framed.paste(strip)
    pen = ImageDraw.Draw(framed)
    for number, caption in enumerate(captions):
        pen.text((number * strip.width / len(captions), strip.height), caption, fill="black", font=_font())
    return framed


@cache
def _font() -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """Loaded once, because that takes longer than everything else in a picture."""
    return ImageFont.load_default()


def _grey(values: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """uint8 [3, height, width] with low as black and high as white."""
    scaled = (values - low) / (high - low).clamp(min=1e-12) * 255
    return scaled.round().clamp(0, 255).to(torch.uint8).expand(3, -1, -1)
