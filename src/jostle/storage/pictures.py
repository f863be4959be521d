"""Pictures of findings whose inputs are images or sounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path

import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from jostle.inputs.audio import INPUT as WAVE
from jostle.inputs.distances import LEVELS
from jostle.storage.files import write_whole
from jostle.storage.finding_record import Answer, FindingRecord, FinishedArray
from jostle.storage.findings import PICTURE, array_in, recorded
from jostle.storage.waveforms import drawn_wave

CHANNELS = (1, 3)
SMALLEST_SIDE = 140  # pixels; smaller images are enlarged
GAP = 4
CAPTION = 14  # pixels of height
Draw = Callable[
    [Tensor, Tensor, Tensor], Tensor
]  # an array, its lowest and its highest value -> uint8 [3, height, width]


def draw_pictures(findings: Path) -> None:
    """A picture for every finding that has none yet; they take longer to draw than all else to write."""
    for folder, record in recorded(findings):
        if not (folder / PICTURE).exists():
            arrays = {name: array_in(folder, name) for name in ("seed", "reference", "input", "minimised")}
            known = {name: array for name, array in arrays.items() if array is not None}
            picture = picture_of(known, _answers(record), sound=(folder / WAVE).exists())
            if picture is not None:
                write_whole(folder / PICTURE, as_png(picture))


def _answers(record: FindingRecord) -> dict[str, str]:
    """What the model says of each array, in words; of several models, what each says."""
    if not isinstance(record.finished, FinishedArray):
        return {}
    return {name: _answer(list(answers.values())) for name, answers in record.finished.answers.items() if answers}


def _answer(answers: list[Answer]) -> str:
    if len(answers) == 1:
        return f"{answers[0].label} ({answers[0].confidence:.1%})"
    return ", ".join(str(one.label) for one in answers)


def write_png(path: Path, image: Tensor, low: float, high: float) -> None:
    """An image [channels, height, width] of values that eight bits hold, as a file."""
    levels = ((image.float() - low) / (high - low) * LEVELS).round().to(torch.uint8).permute(1, 2, 0)
    array = levels.squeeze(2) if levels.shape[2] == 1 else levels
    write_whole(path, as_png(Image.fromarray(array.contiguous().numpy())))


def as_png(image: Image.Image) -> bytes:
    content = BytesIO()
    image.save(content, "png", compress_level=1)
    return content.getvalue()


def picture_of(
    arrays: Mapping[str, Tensor], answers: Mapping[str, str], changed: str = "change", sound: bool = False
) -> Image.Image | None:
    """Seed, change and mutant side by side, and the same of the minimised one, with what the model says of each.

    Arrays are `input` and `reference`, where there are such also `seed`, which was moved to make the reference, and
    `minimised`. Of a volume or video [channels, depth, height, width] the slice is shown that changed most. None for
    inputs that are no image [channels, height, width] either, unless they are sounds [..., time].
    """
    input, reference = arrays["input"].float(), arrays["reference"].float()
    image_like = input.ndim in (3, 4) and input.shape[0] in CHANNELS
    if not (image_like or sound) or not input.isfinite().all():
        return None
    if input.ndim == 4:
        number = int((input - reference).abs().amax((0, 2, 3)).argmax())
        shown = {name: array[:, number] for name, array in arrays.items()}
        return picture_of(shown, answers, changed=f"slice {number + 1}")
    draw = drawn_wave if sound else _grey
    low, high = min(input.min(), reference.min()), max(input.max(), reference.max())
    panels: list[tuple[str, Tensor]] = []
    if "seed" in arrays:
        panels.append((_caption("seed", answers.get("seed")), draw(arrays["seed"].float(), low, high)))
    panels.append(
        (_caption("seed, moved" if "seed" in arrays else "seed", answers.get("reference")), draw(reference, low, high))
    )
    for name, word in (("input", "mutant"), ("minimised", "minimised")):
        if name in arrays:
            panels.append(_change(arrays[name].float() - reference, changed, draw))
            panels.append((_caption(word, answers.get(name)), draw(arrays[name].float(), low, high)))
    image = Image.fromarray(_side_by_side([panel for _, panel in panels]).numpy())
    scale = 1 if sound else max(1, SMALLEST_SIDE // max(input.shape[1:]))
    enlarged = image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST)
    return _captioned(enlarged, tuple(caption for caption, _ in panels))


def _caption(what: str, answer: str | None) -> str:
    return what if answer is None else f"{what}: {answer}"


def _change(change: Tensor, changed: str, draw: Draw) -> tuple[str, Tensor]:
    """The change scaled to be seen, with what changed and how much at most."""
    reach = change.abs().max().clamp(min=1e-12)
    caption = f"{changed}, at most {float(reach):.3g}" if change.any() else "no change"
    return caption, draw(change, -reach, reach)


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
