"""The edit that was worth most so far (the seed paper, §3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.strategies.strategy import Moves, Random, Record

CURIOSITY = 0.2  # share of children made by any edit: without it the first edit that works is the only one


class Greedy:
    """The best by mean worth; edits never tried come first."""

    def __init__(self, edits: Sequence[str]):
        self._record = Record(edits)

    def choose(self, children: int, rng: Random) -> list[Moves]:
        chosen = [self._one(rng) for _ in range(children)]
        return [(edit,) for edit in chosen]

    def _one(self, rng: Random) -> str:
        edits = self._record.edits
        order = [edits[int(place)] for place in rng.permutation(len(edits))]
        edit = order[0] if rng.random() < CURIOSITY else max(order, key=self._record.mean)
        self._record.tried(edit)
        return edit

    def learn(self, worth: Mapping[Moves, float]) -> None:
        self._record.learn(worth)
