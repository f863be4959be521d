"""Every edit is as likely as any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.strategies.strategy import Moves, Random


class ByChance:
    """The baseline, which learns nothing."""

    def __init__(self, edits: Sequence[str]):
        self._edits = tuple(edits)

    def choose(self, children: int, rng: Random) -> list[Moves]:
        return [(self._edits[place],) for place in rng.integers(len(self._edits), size=children)]

    def learn(self, worth: Mapping[Moves, float]) -> None:
        """Nothing is worth more than anything else."""
