"""A walk over the edits that stays longer at those worth more (LEMON, after Metropolis and Hastings)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.strategies.strategy import Moves, Random, Record


class Walk:
    """From edit a to b with probability (1 - p)^(rank b - rank a), p = 1 / number of edits, ranked by worth."""

    def __init__(self, edits: Sequence[str]):
        self._record = Record(edits)
        self._here = self._record.edits[0]

    def choose(self, children: int, rng: Random) -> list[Moves]:
        ranks = self._ranks()
        return [(self._one(ranks, rng),) for _ in range(children)]

    def _one(self, ranks: Mapping[str, int], rng: Random) -> str:
        edits = self._record.edits
        p = 1 / len(edits)
        while True:
            there = edits[int(rng.integers(len(edits)))]
            if rng.random() < (1 - p) ** (ranks[there] - ranks[self._here]):
                self._here = there
                self._record.tried(there)
                return there

    def _ranks(self) -> dict[str, int]:
        best_first = sorted(self._record.edits, key=lambda edit: -self._record.mean(edit))
        return {edit: rank for rank, edit in enumerate(best_first)}

    def learn(self, worth: Mapping[Moves, float]) -> None:
        self._record.learn(worth)
