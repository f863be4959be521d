"""Sequences of edits that breed: those worth most have offspring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from jostle.frameworks.strategies.strategy import Moves, Random

POPULATION = 24
LENGTH = 3  # edits in a sequence at most
LIFETIME = 4  # tries of each sequence before the next generation
CHANGED = 0.3  # probability that an edit of a newborn sequence is another one


class Genetic:
    """A population of sequences; parents are the better of two drawn, children cross and change."""

    def __init__(self, edits: Sequence[str]):
        self._edits = tuple(edits)
        self._population: list[Moves] = []
        self._worth: defaultdict[Moves, float] = defaultdict(float)
        self._next = 0

    def choose(self, children: int, rng: Random) -> list[Moves]:
        return [self._one(rng) for _ in range(children)]

    def _one(self, rng: Random) -> Moves:
        if not self._population:
            self._population = [self._random(rng) for _ in range(POPULATION)]
        if self._next == POPULATION * LIFETIME:
            self._population = [self._born(rng) for _ in range(POPULATION)]
            self._worth.clear()
            self._next = 0
        self._next += 1
        return self._population[(self._next - 1) % POPULATION]

    def _random(self, rng: Random) -> Moves:
        places = rng.integers(len(self._edits), size=int(rng.integers(1, LENGTH + 1)))
        return tuple(self._edits[place] for place in places)

    def _born(self, rng: Random) -> Moves:
        mother, father = self._fitter(rng), self._fitter(rng)
        cut = int(rng.integers(0, len(mother) + 1))
        crossed = (*mother[:cut], *father[cut:])[:LENGTH] or mother
        return tuple(self._random(rng)[0] if rng.random() < CHANGED else edit for edit in crossed)

    def _fitter(self, rng: Random) -> Moves:
        a, b = (self._population[int(place)] for place in rng.integers(POPULATION, size=2))
        return a if self._worth[a] >= self._worth[b] else b

    def learn(self, worth: Mapping[Moves, float]) -> None:
        for moves, value in worth.items():
            self._worth[moves] += value
