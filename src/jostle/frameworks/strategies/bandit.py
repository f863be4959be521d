"""Every edit by what it was worth and by how little is known of it (UCB1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from jostle.frameworks.strategies.strategy import Moves, Random, Record

BREADTH = 0.5  # of the margin that an edit gets for being little known; worths are about 0 to 2


class Bandit:
    """The edit whose worth could be largest."""

    def __init__(self, edits: Sequence[str]):
        self._record = Record(edits)

    def choose(self, children: int, rng: Random) -> list[Moves]:
        return [(self._one(rng),) for _ in range(children)]

    def _one(self, rng: Random) -> str:
        edits = self._record.edits
        order = [edits[int(place)] for place in rng.permutation(len(edits))]
        edit = max(order, key=self._bound)
        self._record.tried(edit)
        return edit

    def _bound(self, edit: str) -> float:
        tries = self._record.tries_of(edit)
        if not tries:
            return math.inf
        return self._record.mean(edit) + BREADTH * math.sqrt(math.log(self._record.tries) / tries)

    def learn(self, worth: Mapping[Moves, float]) -> None:
        self._record.learn(worth)
