"""Pictures of findings whose inputs are images or sounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from io import BytesIO
from itertools import accumulate
from pathlib import Path

import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from jostle.inputs.audio import INPUT as WAVE
from jostle.inputs.distances import LEVELS
from jostle.lineage import Mutation
from jostle.storage.ancestry import Ancestry
from jostle.storage.campaign_record import read_campaign
from jostle.storage.drawn_arrays import (
    CHANNELS,
    at_slice,
    bounds_of,
    change_of,
    drawable,
    drawn_array,
    most_changed_slice,
)
from jostle.storage.files import remove, write_whole
from jostle.storage.finding_record import Answer, FindingRecord, FinishedArray, InputType
from jostle.storage.findings import (
    MINIMISED,
    MINIMISED_REFERENCE,
    PICTURE,
    UNREADABLE,
    array_in,
    finding_folders,
    recorded,
    true_label,
)
from jostle.storage.step_words import step_words

OPENED = ("change.txt", "input.txt", "input.csv", "input.npz", WAVE)  # what tells an input that is no image
DRAWN = ("seed", "reference", "input", MINIMISED, MINIMISED_REFERENCE)
SMALLEST_SIDE = 140  # pixels; smaller images are enlarged
GAP = 4
CAPTION = 14  # pixels of height of a line
LONGEST = 600  # characters of a caption, or of the list of steps; more would make a picture of words
MOST_ROWS = 4096  # of a table


def draw_pictures(findings: Path, classes: Mapping[int, str] | None = None) -> None:
    """A picture for every finding that has none yet; they take longer to draw than all else to write.

    Beside it stands the input in a form that other programs open. Classes may have names.
    """
    ancestry = Ancestry.of(findings.parent)
    bounds = _bounds(findings.parent)
    for folder, record in recorded(findings):
        if not (folder / PICTURE).exists():
            for name, content in readable(folder, record, bounds).items():
                write_whole(folder / name, content)
            picture = picture_in(folder, record, ancestry.steps(record), classes or {})
            if picture is not None:  # last, because it tells that all is there
                write_whole(folder / PICTURE, picture)


def remove_pictures(findings: Path) -> None:
    """So that they are drawn anew, with other names of classes perhaps."""
    for folder in finding_folders(findings):
        remove(folder / PICTURE)


def picture_in(
    folder: Path, record: FindingRecord, steps: Sequence[Mutation], classes: Mapping[int, str]
) -> bytes | None:
    """The picture of the finding in a folder, as a file; None where it cannot be drawn."""
    if record.input_type is InputType.GRAPH:
        return None
    known = _drawn_arrays(folder)
    if not known:
        return None
    left = record.finished.steps if isinstance(record.finished, FinishedArray) else None
    way = [step_words(step) for step in (steps if left is None else left)]
    captions = _answers(record, classes)
    truth = true_label(folder, record)
    if truth is not None:
        captions["truth"] = classes.get(truth, str(truth))
    picture = picture_of(known, captions, sound=(folder / WAVE).exists(), steps=way)
    return None if picture is None else as_png(picture)


def readable(folder: Path, record: FindingRecord, bounds: tuple[float, float] | None) -> dict[str, bytes]:
    """The arrays of a finding as images or tables, where the domain of its inputs wrote nothing that opens."""
    arrays = {} if record.input_type is InputType.GRAPH else _drawn_arrays(folder)
    if not arrays:
        return {}
    input, reference = arrays["input"], arrays["reference"]
    if input.ndim == 3 and input.shape[0] in CHANNELS:
        images = {name: arrays.get(name) for name in ("input", MINIMISED)}
        low, high = bounds or (float(input.min()), float(input.max()))
        return {
            f"{name}.png": _image(array, low, high)
            for name, array in images.items()
            if array is not None and not (folder / f"{name}.png").exists() and array.isfinite().all()
        }
    table = input.ndim in (1, 2) and input.numel() <= MOST_ROWS
    if not table or any((folder / name).exists() for name in OPENED):
        return {}
    rows = enumerate(zip(reference.flatten().tolist(), input.flatten().tolist(), strict=True))
    return {"input.csv": "".join(["place,seed,input\n", *(f"{n},{a},{b}\n" for n, (a, b) in rows)]).encode()}


def _drawn_arrays(folder: Path) -> dict[str, Tensor]:
    """The arrays of a finding that pictures show; none where one is damaged or they do not fit together."""
    try:
        arrays = {name: array_in(folder, name) for name in DRAWN}
    except UNREADABLE:
        return {}
    known = {name: array for name, array in arrays.items() if array is not None}
    fit = len({array.shape for array in known.values()}) == 1 and all(array.numel() for array in known.values())
    return known if fit and {"input", "reference"} <= known.keys() else {}


def _bounds(campaign: Path) -> tuple[float, float] | None:
    try:
        return read_campaign(campaign).value_range
    except (OSError, ValueError):
        return None


def _answers(record: FindingRecord, classes: Mapping[int, str]) -> dict[str, str]:
    """What the model says of each array, in words; of several models, what each says."""
    if not isinstance(record.finished, FinishedArray):
        return {}
    answers = record.finished.answers.items()
    return {name: _answer(list(said.values()), classes) for name, said in answers if said}


def _answer(answers: list[Answer], classes: Mapping[int, str]) -> str:
    names = [classes.get(one.label, str(one.label)) for one in answers]
    return f"{names[0]} ({answers[0].confidence:.1%})" if len(answers) == 1 else ", ".join(names)


def _image(image: Tensor, low: float, high: float) -> bytes:
    """An image [channels, height, width] as a file of eight bits."""
    levels = ((image.float() - low) / max(high - low, 1e-12)).clamp(0, 1).mul(LEVELS).round()
    array = levels.to(torch.uint8).permute(1, 2, 0)
    return as_png(Image.fromarray((array.squeeze(2) if array.shape[2] == 1 else array).contiguous().numpy()))


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
    arrays: Mapping[str, Tensor],
    answers: Mapping[str, str],
    sound: bool = False,
    steps: Sequence[str] = (),
) -> Image.Image | None:
    """Seed, change and mutant side by side, and the same of the minimised one, with what the model says of each.

    Below stand the steps from the seed on, in words. Answers may hold the true label as `truth`.

    Arrays are `input` and `reference`, where there are such also `seed`, which was moved to make the reference, and
    `minimised`. Of a volume or video [channels, depth, height, width] the slice is shown that changed most. None for
    inputs that are no image [channels, height, width] either, unless they are sounds [..., time].
    """
    if not drawable(arrays["input"], sound):
        return None
    panels = list(_panels(arrays, answers, sound))
    image = Image.fromarray(_side_by_side([pixels for _, pixels in panels]).numpy())
    scale = 1 if sound else max(1, SMALLEST_SIDE // max(arrays["input"].shape[-2:]))
    enlarged = image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST)
    return _captioned(enlarged, [caption for caption, _ in panels], _way(steps))


def _panels(arrays: Mapping[str, Tensor], answers: Mapping[str, str], sound: bool) -> Iterator[tuple[str, Tensor]]:
    """Captions and pixels: what was there before, then each mutant behind its change."""
    place = None if sound else most_changed_slice(arrays)
    shown, changed = at_slice(arrays, place), "change" if place is None else f"slice {place + 1}"
    ends, moved = bounds_of(shown), "seed" in shown
    for name, word in _before(moved, answers.get("truth")).items():
        yield _caption(word, answers.get(name)), drawn_array(shown[name], *ends, sound)
    for name, word in (("input", "mutant"), (MINIMISED, "minimised")):
        if name in shown:
            change = change_of(shown, name)
            yield _change(change, changed if change.any() or not moved else "moved", sound)
            yield _caption(word, answers.get(name)), drawn_array(shown[name], *ends, sound)


def _before(moved: bool, truth: str | None) -> dict[str, str]:
    """The arrays that mutants came from, in words: the seed, and where it was moved, that too."""
    first = "seed" if truth is None else f"seed, truly {truth}"
    return {"seed": first, "reference": "seed, moved"} if moved else {"reference": first}


def _caption(what: str, answer: str | None) -> str:
    return _cut(what if answer is None else f"{what}: {answer}")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _way(steps: Sequence[str]) -> str:
    """The steps in words, of a long way the first ones and how many more there are."""
    if not steps:
        return ""
    ends = accumulate(len(step) + len("; ") for step in steps)
    shown = max(1, sum(end <= LONGEST for end in ends))
    left = len(steps) - shown
    more = f" … and {left:,} more {'step' if left == 1 else 'steps'}" if left else ""
    return f"steps: {'; '.join(map(_cut, steps[:shown]))}{more}"


def _change(change: Tensor, changed: str, sound: bool) -> tuple[str, Tensor]:
    """The change scaled to be seen, with what changed and how much at most."""
    reach = change.abs().max().clamp(min=1e-12)
    nothing = "no change" if changed != "moved" else "moved, and nothing else"
    caption = f"{changed}, at most {float(reach):.3g}" if change.any() else nothing
    return caption, drawn_array(change, -reach, reach, sound)


def _side_by_side(panels: list[Tensor]) -> Tensor:
    """uint8 [height, width, 3] of panels [3, height, width] with gaps between them."""
    height, width = panels[0].shape[1:]
    gap = torch.full((3, height, max(1, GAP * width // SMALLEST_SIDE)), 255, dtype=torch.uint8)
    parts = [part for panel in panels for part in (panel, gap)][:-1]
    return torch.cat(parts, 2).permute(1, 2, 0).contiguous()


def _captioned(strip: Image.Image, captions: Sequence[str], way: str) -> Image.Image:
    """The strip with words below: a caption for each of its panels, and the way from the seed."""
    room = strip.width // len(captions)
    columns = [_wrapped(caption, room - GAP) for caption in captions]
    below = _wrapped(way, strip.width - GAP) if way else []
    beside = max(map(len, columns))
    framed = Image.new("RGB", (strip.width, strip.height + CAPTION * (beside + len(below))), "white")
    framed.paste(strip)
    pen = ImageDraw.Draw(framed)
    for number, lines in enumerate(columns):
        _write(pen, lines, number * strip.width / len(columns), strip.height)
    _write(pen, below, 0, strip.height + CAPTION * beside)
    return framed


def _write(pen: ImageDraw.ImageDraw, lines: Sequence[str], left: float, top: float) -> None:
    for number, line in enumerate(lines):
        pen.text((left, top + number * CAPTION), line, fill="black", font=_font())


def _wrapped(text: str, room: float) -> list[str]:
    """The text in lines that fit; a word that is too long is broken."""
    lines = [""]
    for word in _fitting(text, room):
        longer = f"{lines[-1]} {word}".strip()
        if _font().getlength(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines if lines[0] else lines[1:]


def _fitting(text: str, room: float) -> Iterator[str]:
    """The words of a text, those that are too long in pieces."""
    for word in "".join(sign if sign.isprintable() else " " for sign in text).split():
        piece = ""
        for sign in word:
            if piece and _font().getlength(piece + sign) > room:
                yield piece
                piece = ""
            piece += sign
        yield piece


@cache
def _font() -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """Loaded once, because that takes longer than everything else in a picture."""
    return ImageFont.load_default()
