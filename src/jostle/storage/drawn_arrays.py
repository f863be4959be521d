"""Arrays of a finding as pixels, and what changed in them: the same for pictures in folders and on pages."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.inputs.distances import LEVELS
from jostle.storage.findings import MINIMISED, MINIMISED_REFERENCE
from jostle.storage.waveforms import drawn_wave

CHANNELS = (1, 3)
ROUNDING = 1e-6  # of the range: less is no change
HALF_LEVEL = 0.51 / LEVELS  # the same of an image that was moved and then rounded to eight bits


def drawable(input: Tensor, sound: bool) -> bool:
    """Whether an input can be seen: [channels, height, width], with depth before height, or a sound [..., time]."""
    image_like = input.ndim in (3, 4) and input.shape[0] in CHANNELS and min(input.shape) > 0
    return (image_like or (sound and input.ndim > 0 and input.numel() > 0)) and bool(input.float().isfinite().all())


def most_changed_slice(arrays: Mapping[str, Tensor]) -> int | None:
    """Of volumes [channels, depth, height, width], the place along the depth; None of all else."""
    input, reference = arrays["input"].float(), arrays["reference"].float()
    return int((input - reference).abs().amax((0, 2, 3)).argmax()) if input.ndim == 4 else None


def at_slice(arrays: Mapping[str, Tensor], place: int | None) -> dict[str, Tensor]:
    """Arrays as float, of volumes this slice [channels, height, width]."""
    return {name: (array if place is None else array[:, place]).float() for name, array in arrays.items()}


def bounds_of(arrays: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The lowest and the highest value of a finding's input and its reference."""
    input, reference = arrays["input"].float(), arrays["reference"].float()
    return min(input.min(), reference.min()), max(input.max(), reference.max())


def reference_name(arrays: Mapping[str, Tensor], name: str) -> str:
    """What the array of this name is compared with: the minimised input may be moved otherwise than the input."""
    return MINIMISED_REFERENCE if name == MINIMISED and MINIMISED_REFERENCE in arrays else "reference"


def change_of(arrays: Mapping[str, Tensor], name: str) -> Tensor:
    """How the array of this name differs from its reference, 0 where only by rounding; of its shape."""
    values = [arrays[one].float() for one in ("seed", "reference", "input") if one in arrays]
    span = max(float(one.max()) for one in values) - min(float(one.min()) for one in values)  # moves lose extremes
    rounding = span * (HALF_LEVEL if "seed" in arrays else ROUNDING)
    change = arrays[name].float() - arrays[reference_name(arrays, name)].float()
    return change.where(change.abs() > rounding, 0.0)


def drawn_array(values: Tensor, low: Tensor, high: Tensor, sound: bool) -> Tensor:
    """uint8 [3, height, width] of an image with low as black and high as white, or of a sound's wave."""
    if sound:
        return drawn_wave(values, low, high)
    scaled = (values - low) / (high - low).clamp(min=1e-12) * 255
    return scaled.round().clamp(0, 255).to(torch.uint8).expand(3, -1, -1)
