"""Images and arrays: every value between two bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from jostle.domain import Outside

IMAGE, ARRAY = "image", "array"
IMAGE_DIMENSIONS = 3  # channels, height, width
COLOURS = (1, 3, 4)  # channels that images have


def _are_images(inputs: Tensor) -> bool:
    return inputs.ndim == IMAGE_DIMENSIONS + 1 and inputs.shape[1] in COLOURS


@dataclass(frozen=True)
class ValueRange:
    """Values from low to high, the same for all of an input."""

    low: float
    high: float
    kind: str = ARRAY
    mutator: str = "noise"

    @staticmethod
    def of(inputs: Tensor, low: float, high: float) -> ValueRange:
        """The range of inputs [batch, ...], which are images if they have colours, height and width."""
        return ValueRange(low, high, IMAGE if _are_images(inputs) else ARRAY)

    def nearest(self, inputs: Tensor, roots: Tensor) -> Tensor:
        return inputs.clamp(self.low, self.high)

    def outside(self, inputs: Tensor) -> Outside | None:
        beyond = ((inputs < self.low) | (inputs > self.high)).flatten(1)
        if not beyond.any():
            return None
        row = int(beyond.any(1).nonzero()[0])
        value = float(inputs[row].flatten()[beyond[row]][0])
        return Outside(row, f"a value is {value:.9g}, not between {self.low:g} and {self.high:g}")

    def lines(self) -> list[str]:
        return []

    def as_toml(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high}

    def files(self, input: Tensor, reference: Tensor) -> Mapping[str, bytes]:
        return {}
