"""Arrays of findings as pictures: seed, amplified change and mutant, of images and sounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.storage.drawn_arrays import (
    at_slice,
    bounds_of,
    change_of,
    drawn_array,
    most_changed_slice,
    reference_name,
)
from jostle.storage.findings import MINIMISED

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


def drawn_finding(arrays: Mapping[str, Tensor], sound: bool) -> list[DrawnArray]:
    """Seed, change and mutant; the mutant is the minimised one where there is such, and the one found follows it."""
    shown = at_slice(arrays, None if sound else most_changed_slice(arrays))
    low, high = bounds_of(shown)
    best = MINIMISED if MINIMISED in shown else "input"
    compared, change = reference_name(shown, best), change_of(shown, best)
    first = "seed" if "seed" in shown else compared
    drawn = [DrawnArray("seed", "seed", drawn_array(shown[first], low, high, sound))]
    if first != compared and bool(change.any()):
        drawn.append(DrawnArray(compared, "seed, moved alike", drawn_array(shown[compared], low, high, sound)))
    elif first != compared:
        change = shown[best] - shown[first]  # moved, and nothing else
    drawn.append(_change(change, high - low, sound))
    if best == MINIMISED:
        drawn.append(DrawnArray(best, "smallest mutant", drawn_array(shown[best], low, high, sound)))
    caption = "mutant as found" if best == MINIMISED else "mutant"
    return [*drawn, DrawnArray("input", caption, drawn_array(shown["input"], low, high, sound))]


def drawn_alone(input: Tensor, sound: bool) -> Tensor:
    """One array [...] as uint8 [3, height, width]."""
    alone = {"input": input, "reference": torch.zeros_like(input)}
    array = at_slice(alone, None if sound else most_changed_slice(alone))["input"]
    return drawn_array(array, array.min(), array.max(), sound)


def _change(change: Tensor, span: Tensor, sound: bool) -> DrawnArray:
    reach = change.abs().max()
    if not float(reach):
        return DrawnArray("", "no change", drawn_array(change, torch.tensor(-1.0), torch.tensor(1.0), sound))
    pixels = drawn_array(change, -reach, reach, sound) if sound else _diverging(change / reach)
    factor = float(span / reach)
    return DrawnArray("", f"change, amplified {factor:.3g} times" if factor > 1.05 else "change", pixels)


def _diverging(share: Tensor) -> Tensor:
    """uint8 [3, height, width] of shares [1 or 3, height, width] from -1, blue, to 1, red; of colours, around grey."""
    if share.shape[0] == len(NEUTRAL):
        return ((share + 1) / 2 * 255).round().to(torch.uint8)
    neutral, less, more = (torch.tensor(colour).view(3, 1, 1).float() for colour in (NEUTRAL, LESS, MORE))
    weight = share.abs().sqrt()  # small changes are seen too
    return (neutral * (1 - weight) + torch.where(share < 0, less, more) * weight).round().to(torch.uint8)
