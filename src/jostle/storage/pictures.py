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


def picture_of(input: Tensor, reference: Tensor, seed: Tensor | None = None) -> Image.Image | None:
    """Reference, change and mutant side by side, before them the seed where it was moved to make the reference.

    None for inputs that are no image [channels, height, width].
    """
    if input.ndim != 3 or input.shape[0] not in CHANNELS or not input.isfinite().all():
        return None
    input, reference = input.float(), reference.float()
    low, high = min(input.min(), reference.min()), max(input.max(), reference.max())
    change = input - reference
    reach = change.abs().max().clamp(min=1e-12)
    panels = {
        **({} if seed is None else {"seed": _grey(seed.float(), low, high)}),
        "seed" if seed is None else "seed, moved": _grey(reference, low, high),
        f"change, at most {float(reach):.3g}" if change.any() else "no change": _grey(change, -reach, reach),
        "mutant": _grey(input, low, high),
    }
    image = Image.fromarray(_side_by_side(list(panels.values())).numpy())
    scale = max(1, SMALLEST_SIDE // max(input.shape[1:]))
    enlarged = image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST)
    return _captioned(enlarged, tuple(panels))


def _side_by_side(panels: list[Tensor]) -> Tensor:
    """uint8 [height, width, 3] of panels [3, height, width] with gaps between them."""
    height, width = panels[0].shape[1:]
    gap = torch.full((3, height, max(1, GAP * width // SMALLEST_SIDE)), 255, dtype=torch.uint8)
    parts = [part for panel in panels for part in (panel, gap)][:-1]
    return torch.cat(parts, 2).permute(1, 2, 0).contiguous()


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
