"""What twins are made from, and where those are kept that are files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from torch import Tensor

from jostle.errors import ModelRefused, UsageError
from jostle.foreign import Crash, attempt
from jostle.subjects.silence import silenced

Made = TypeVar("Made")
CALIBRATED = 128  # seeds at most that a twin is made from
# What a user may ask for; which of them a model can become, its kind says. A share of weights stands after weights16.
COMPILED = "compile"
WORDS = (
    *("float16", "bfloat16", "weights16", "int8", "int8-static"),
    *(COMPILED, "export", "onnx", "openvino", "litert"),
)
LONGEST = 300  # characters of what a converter says of its failure


@dataclass(frozen=True)
class TwinMaking:
    """Everything that making a twin may need besides the model."""

    sample: Tensor  # [some, ...] seeds in the user's value range: examples of inputs, and what scales are measured on
    folder: Path  # of twins that are files: what was made there before is not made again
    seed: int = 0  # of weights that are drawn
    mean: Sequence[float] = field(default=())  # per channel, subtracted before the model
    std: Sequence[float] = field(default=())  # per channel, divided by before the model

    def written(self, name: str, suffix: str, write: Callable[[Path], None], wanted: str = "") -> Path:
        """The file of a twin, written whole or not at all, unless it is there; files beside it may belong to it.

        Another twin may be wanted, and this one be on the way to it.
        """
        path = self.file(name, suffix)
        if not path.exists():
            with TemporaryDirectory(dir=self.folder) as unfinished:
                made_or_refused(wanted or name, lambda: write(Path(unfinished) / path.name))
                # Its own file comes last, because it is what counts as made.
                for part in sorted(Path(unfinished).iterdir(), key=lambda part: part.name == path.name):
                    part.replace(self.folder / part.name)
        return path

    def file(self, name: str, suffix: str) -> Path:
        """Where a twin of this name is kept."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{self._stem(name)}{suffix}"

    def holds(self, name: str) -> bool:
        """Whether a twin of this name is kept."""
        return any(self.folder.glob(f"{self._stem(name)}.*"))

    def _stem(self, name: str) -> str:
        return _plain(f"{name} seed {self.seed}" if is_drawn(name) else name)


def made_or_refused(name: str, make: Callable[[], Made]) -> Made:
    """What a foreign converter makes without a word; ModelRefused says in one line why it does not."""
    with silenced():
        made = attempt(make)
    if isinstance(made, Crash):
        reason = f"{made.error}: {made.message}" if made.message else made.error
        raise ModelRefused(f"--twin {name} cannot be made ({reason[:LONGEST].rstrip(' .:')}): choose another twin")
    return made


def is_drawn(twin: str) -> bool:
    """True of a twin whose weights are drawn at random, so that several can be made."""
    return twin.startswith("weights16:")


def share_of_weights(name: str) -> float | None:
    """The share in `weights16:50%`, None if the name is not of that form."""
    if not is_drawn(name):
        return None
    match = re.fullmatch(r"weights16:(\d+(?:\.\d+)?)%", name)
    if match is None or not 0 < float(match[1]) <= 100:
        raise UsageError(f"{name}: give a share above 0 % and at most 100 %, such as weights16:50%")
    return float(match[1]) / 100


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
