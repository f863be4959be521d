"""What a strategy is, and the statistics of edits that most of them keep."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

Random = np.random.Generator
Moves = tuple[str, ...]  # edits that make one child, one after another


class EditStrategy(Protocol):
    """Chooses edits, and learns what they were worth.

    Law: choosing and learning anew through the same steps leads to the same state.
    """

    def choose(self, children: int, rng: Random) -> list[Moves]:
        """The edits of each child."""

    def learn(self, worth: Mapping[Moves, float]) -> None:
        """Takes in what the children of the last step were worth together, by their edits."""


class EditStatistics:
    """How often each edit was tried, and what it was worth."""

    def __init__(self, edits: Sequence[str]):
        self.edits = tuple(edits)
        self._tries: Counter[str] = Counter()
        self._worth: defaultdict[str, float] = defaultdict(float)

    def tried(self, edit: str) -> None:
        self._tries[edit] += 1

    def learn(self, worth: Mapping[Moves, float]) -> None:
        for moves, value in worth.items():
            for edit in moves:
                self._worth[edit] += value

    @property
    def tries(self) -> int:
        return self._tries.total()

    def tries_of(self, edit: str) -> int:
        return self._tries[edit]

    def mean(self, edit: str) -> float:
        """Worth of one try, 1 of an edit that was never tried."""
        return self._worth[edit] / self._tries[edit] if self._tries[edit] else 1.0
