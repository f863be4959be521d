"""What twins are made from, and where those are kept that are files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

CALIBRATED = 128  # seeds at most that a twin is made from


@dataclass(frozen=True)
class TwinMaking:
    """Everything that making a twin may need besides the model."""

    sample: Tensor  # [some, ...] seeds in the user's value range: examples of inputs, and what scales are measured on
    folder: Path  # of twins that are files: what was made there before is not made again
    seed: int = 0  # of weights that are drawn
    mean: Sequence[float] = field(default=())  # per channel, subtracted before the model
    std: Sequence[float] = field(default=())  # per channel, divided by before the model

    def file(self, name: str, suffix: str) -> Path:
        """Where a twin of this name is kept."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{_plain(name)}{suffix}"

    def holds(self, name: str) -> bool:
        """Whether a twin of this name is kept."""
        return any(self.folder.glob(f"{_plain(name)}.*"))


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
