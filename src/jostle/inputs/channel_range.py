"""Images and arrays whose channels differ in what they may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from jostle.domain import Domain, Outside
from jostle.inputs.domain_files import Section
from jostle.inputs.value_range import ValueRange
from jostle.options.kinds import UNBOUNDED
from jostle.records import Seeds


@dataclass(frozen=True)
class ChannelRange:
    """Values from low to high, for each channel its own; inputs are [batch, channels, ...]."""

    lows: tuple[float, ...]
    highs: tuple[float, ...]
    kind: str
    dimensions: int  # of an input, channels among them
    mutator: str = "noise"

    @cached_property
    def low(self) -> Tensor:  # [channels, 1, …]
        return torch.tensor(self.lows).view(-1, *(1,) * (self.dimensions - 1))

    @cached_property
    def high(self) -> Tensor:  # [channels, 1, …]
        return torch.tensor(self.highs).view(-1, *(1,) * (self.dimensions - 1))

    def nearest(self, inputs: Tensor, roots: Tensor) -> Tensor:
        return torch.clamp(inputs, self.low, self.high)

    def outside(self, inputs: Tensor) -> Outside | None:
        beyond = ~((inputs >= self.low) & (inputs <= self.high))
        if not beyond.any():
            return None
        place = beyond.nonzero()[0].tolist()
        value, channel = float(inputs[tuple(place)]), place[1]
        bounds = f"{self.lows[channel]:g} and {self.highs[channel]:g}"
        return Outside(place[0], f"a value of channel {channel} is {value:.9g}, not between {bounds}")

    def lines(self) -> list[str]:
        ends = zip(self.lows, self.highs, strict=True)
        return [f"values by channel: {', '.join(f'{low:g} to {high:g}' for low, high in ends)}"]

    def as_toml(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": list(self.lows), "high": list(self.highs)}

    def files(self, input: Tensor, reference: Tensor) -> Mapping[str, bytes]:
        return {}


def declared_values(section: Section, seeds: Seeds) -> Domain:
    """The values of images or arrays that a file declares: one low and high for all, or one for each channel."""
    section.only("kind", "low", "high")
    shape = tuple(seeds.inputs.shape[1:])
    kind = ValueRange.of(seeds.inputs, 0, 1).kind
    if section.values["kind"] != kind:
        raise section.wrong("kind", f'seeds of shape {list(shape)} are of kind "{kind}"')
    if _is_unbounded(section):
        return ValueRange(*UNBOUNDED, kind)
    lows, highs = section.numbers("low"), section.numbers("high")
    for key, bounds in (("low", lows), ("high", highs)):
        if len(bounds) not in (1, shape[0]):
            raise section.wrong(key, f"{len(bounds)} numbers: give one, or one for each of {shape[0]} channels")
    if len(lows) == len(highs) == 1:
        return ValueRange(*checked_ends(section), kind)
    count = max(len(lows), len(highs))
    checked_ends(section)
    return ChannelRange(lows * (count // len(lows)), highs * (count // len(highs)), kind, len(shape))


def checked_ends(section: Section) -> tuple[float, float]:
    """The lowest and the highest value of all channels."""
    if _is_unbounded(section):
        return UNBOUNDED
    lows, highs = section.numbers("low"), section.numbers("high")
    several = max(len(lows), len(highs))
    pairs = zip(lows * (several // len(lows)), highs * (several // len(highs)), strict=False)
    if not all(low < high for low, high in pairs):
        raise section.wrong("low", "each low must be below its high")
    return min(lows), max(highs)


def _is_unbounded(section: Section) -> bool:
    return (section.values.get("low"), section.values.get("high")) == UNBOUNDED
