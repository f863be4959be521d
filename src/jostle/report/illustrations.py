"""Arrays of findings as pictures: seed, amplified change and mutant, of images and sounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.storage.waveforms import drawn_wave

CHANNELS = (1, 3)
LARGEST_SIDE = 192  # pixels of one picture on the page
THUMBNAIL = 40  # pixels
NEUTRAL = (246, 246, 246)  # no change
LESS, MORE = (37, 99, 235), (220, 38, 38)


@dataclass(frozen=True)
class DrawnArray:
    """A picture with the words below it."""

    name: str  # of the array that it shows, "" of a change
    caption: str
    pixels: Tensor  # uint8 [3, height, width]


def drawable(input: Tensor, sound: bool) -> bool:
    """Whether an input can be seen: [channels, height, width], with depth before height, or a sound [..., time]."""
    image_like = input.ndim in (3, 4) and input.shape[0] in CHANNELS and min(input.shape) > 0
    return (image_like or (sound and input.numel() > 0)) and bool(input.float().isfinite().all())


def drawn_finding(arrays: Mapping[str, Tensor], sound: bool) -> list[DrawnArray]:
    """Seed, change and mutant; the mutant is the minimised one where there is such, and the one found follows it."""
    shown = _slices(arrays)
    input, reference = shown["input"], shown["reference"]
    low, high = min(input.min(), reference.min()), max(input.max(), reference.max())
    seed, best = shown.get("seed", reference), shown.get("minimised", input)
    drawn = [DrawnArray("seed", "seed", _drawn(seed, low, high, sound))]
    if "seed" in shown and bool((best != reference).any()):
        drawn.append(DrawnArray("reference", "seed, moved alike", _drawn(reference, low, high, sound)))
    drawn.append(_change(best, reference if bool((best != reference).any()) else seed, high - low, sound))
    if "minimised" in shown:
        drawn.append(DrawnArray("minimised", "smallest mutant", _drawn(best, low, high, sound)))
    drawn.append(
        DrawnArray("input", "mutant as found" if "minimised" in shown else "mutant", _drawn(input, low, high, sound))
    )
    return drawn


def drawn_alone(input: Tensor, sound: bool) -> Tensor:
    """One array [...] as uint8 [3, height, width]."""
    array = _slices({"input": input, "reference": torch.zeros_like(input)})["input"]
    return _drawn(array, array.min(), array.max(), sound)


def _slices(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Arrays as float; of volumes [channels, depth, height, width], the slice that changed most."""
    floats = {name: array.float() for name, array in arrays.items()}
    if floats["input"].ndim != 4:
        return floats
    place = int((floats["input"] - floats["reference"]).abs().amax((0, 2, 3)).argmax())
    return {name: array[:, place] for name, array in floats.items()}


def _drawn(values: Tensor, low: Tensor, high: Tensor, sound: bool) -> Tensor:
    if sound:
        return drawn_wave(values, low, high)
    scaled = (values - low) / (high - low).clamp(min=1e-12) * 255
    return scaled.round().clamp(0, 255).to(torch.uint8).expand(3, -1, -1)


def _change(input: Tensor, reference: Tensor, span: Tensor, sound: bool) -> DrawnArray:
    change = input - reference
    reach = change.abs().max()
    if not float(reach):
        return DrawnArray("", "no change", _drawn(change, torch.tensor(-1.0), torch.tensor(1.0), sound))
    pixels = drawn_wave(change, -reach, reach) if sound else _diverging(change / reach)
    factor = float(span / reach)
    return DrawnArray("", f"change, amplified {factor:.3g} times" if factor > 1.05 else "change", pixels)


def _diverging(share: Tensor) -> Tensor:
    """uint8 [3, height, width] of shares [1 or 3, height, width] from -1, blue, to 1, red; of colours, around grey."""
    if share.shape[0] == len(NEUTRAL):
        return ((share + 1) / 2 * 255).round().to(torch.uint8)
    neutral, less, more = (torch.tensor(colour).view(3, 1, 1).float() for colour in (NEUTRAL, LESS, MORE))
    weight = share.abs().sqrt()  # small changes are seen too
    return (neutral * (1 - weight) + torch.where(share < 0, less, more) * weight).round().to(torch.uint8)
