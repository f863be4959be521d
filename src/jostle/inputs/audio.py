"""Audio: sound waves at a rate, with values from -1 to 1, and how they are moved and stretched in time."""

from __future__ import annotations

import wave
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import torch
from torch import Tensor

from jostle.domain import Outside
from jostle.inputs.geometry import Border, are_moved, unmoved
from jostle.lineage import Lineage, Untouched

AUDIO = "audio"
LARGEST = 2**15 - 1  # of 16-bit samples
INPUT, SEED = "input.wav", "seed.wav"  # in the folder of a finding


@dataclass(frozen=True)
class Audio:
    """Waves [channels, time] or [time] of so many samples a second, with values from -1 to 1."""

    rate: int
    shape: tuple[int, ...]
    kind: str = AUDIO
    mutator: str = AUDIO

    def nearest(self, inputs: Tensor, roots: Tensor) -> Tensor:
        return inputs.clamp(-1, 1)

    def outside(self, inputs: Tensor) -> Outside | None:
        beyond = inputs.abs().flatten(1) > 1
        if not beyond.any():
            return None
        row = int(beyond.any(1).nonzero()[0])
        value = float(inputs[row].flatten()[beyond[row]][0])
        return Outside(row, f"a sample is {value:.9g}, and samples go from -1 to 1: divide them by the largest")

    def lines(self) -> list[str]:
        channels = self.shape[0] if len(self.shape) > 1 else 1
        seconds = self.shape[-1] / self.rate
        return [f"audio: {seconds:.3g} s at {self.rate} Hz, {channels} channel{'s' if channels > 1 else ''}"]

    def as_toml(self) -> dict[str, Any]:
        return {"kind": self.kind, "rate": self.rate}

    def files(self, input: Tensor, reference: Tensor) -> Mapping[str, bytes]:
        return {INPUT: encoded_wave(input, self.rate), SEED: encoded_wave(reference, self.rate)}

    def placed(self, rows: Tensor, border: Border = Border.DARK) -> Warps:
        """The lineage with these warps [batch, 2, 3]."""
        return Warps(rows)


def encoded_wave(samples: Tensor, rate: int) -> bytes:
    """Samples [channels, time] or [time] as a .wav file of 16 bits; what is not finite is silence."""
    levels = (torch.nan_to_num(samples.float(), 0, 0, 0).clamp(-1, 1) * LARGEST).round().to(torch.int16)
    content = BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(samples.shape[0] if samples.ndim > 1 else 1)
        file.setsampwidth(levels.itemsize)
        file.setframerate(rate)
        file.writeframes(levels.movedim(0, -1).contiguous().numpy().astype("<i2").tobytes())
    return content.getvalue()


@dataclass(frozen=True)
class Warps:
    """The lineage of waves that mutators shift and stretch.

    Of each row, [0, 0] is how fast it is played and [0, 2] by how many samples it begins later in its root. The form is
    that of `Placements`, so that one kind of file holds both.
    """

    rows: Tensor  # [batch, 2, 3]

    @staticmethod
    def of(lineage: Lineage) -> Warps:
        """The warps of waves of which some or none was ever moved."""
        if isinstance(lineage, Untouched):
            return Warps(unmoved(lineage.count))
        if not isinstance(lineage, Warps):
            raise TypeError(f"{type(lineage).__name__} tells nothing of how waves were moved")
        return lineage

    @property
    def moved(self) -> Tensor:
        return are_moved(self.rows)

    def with_rows(self, rows: Tensor) -> Warps:
        return Warps(rows)

    def untouched(self, count: int) -> Warps:
        return Warps(unmoved(count))

    def references(self, originals: Tensor) -> Tensor:
        """The roots, moved as the inputs were."""
        rows = self.moved.nonzero().squeeze(1)
        if len(rows):
            originals[rows] = warped(originals[rows], self.rows[rows, 0, 0], self.rows[rows, 0, 2])
        return originals


def warped(waves: Tensor, speeds: Tensor, shifts: Tensor) -> Tensor:
    """Waves [batch, ..., time], each played so fast [batch] around its middle and begun so many samples later [batch].

    Between samples values are on a line; before the beginning and behind the end there is silence.
    """
    time = waves.shape[-1]
    middle, speeds, shifts = (time - 1) / 2, speeds.double()[:, None], shifts.double()[:, None]
    places = (torch.arange(time, dtype=torch.float64) - middle) * speeds + middle + shifts  # [batch, time]
    left = places.floor()
    weights = (places - left).to(waves.dtype)
    return _at(waves, left) * _like(1 - weights, waves) + _at(waves, left + 1) * _like(weights, waves)


def _at(waves: Tensor, places: Tensor) -> Tensor:
    """The samples at whole places [batch, time], 0 where there are none."""
    time = waves.shape[-1]
    there = _like(((places >= 0) & (places < time)).to(waves.dtype), waves)
    return waves.gather(-1, _like(places.clamp(0, time - 1).long(), waves).expand_as(waves)) * there


def _like(values: Tensor, waves: Tensor) -> Tensor:
    """[batch, time] shaped to go with waves [batch, ..., time]."""
    return values.view(len(values), *(1,) * (waves.ndim - 2), -1)
