"""Every strategy by the name that users type."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from jostle.frameworks.strategies.strategy import EditStatistics, EditStrategy, Moves, Random

# Greedy
CURIOSITY = 0.2  # share of children made by any edit: without it the first edit that works is the only one
# Genetic
POPULATION = 24
LENGTH = 3  # edits in a sequence at most
LIFETIME = 4  # tries of each sequence before the next generation
CHANGED = 0.3  # probability that an edit of a newborn sequence is another one
# Bandit
BREADTH = 0.5  # of the margin that an edit gets for being little known; worths are about 0 to 2


class Greedy:
    """Chooses the edit that was worth most in the mean (the seed paper, §3.3); edits never tried come first."""

    def __init__(self, edits: Sequence[str]):
        self._statistics = EditStatistics(edits)

    def choose(self, children: int, rng: Random) -> list[Moves]:
        chosen = [self._one(rng) for _ in range(children)]
        return [(edit,) for edit in chosen]

    def _one(self, rng: Random) -> str:
        edits = self._statistics.edits
        order = [edits[int(place)] for place in rng.permutation(len(edits))]
        edit = order[0] if rng.random() < CURIOSITY else max(order, key=self._statistics.mean)
        self._statistics.tried(edit)
        return edit

    def learn(self, worth: Mapping[Moves, float]) -> None:
        self._statistics.learn(worth)


class Genetic:
    """Breeds a population of sequences of edits; parents are the better of two drawn, children cross and change."""

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


class MetropolisHastings:
    """Walks over the edits and stays longer at those worth more (LEMON).

    From edit a to b with probability (1 - p)^(rank b - rank a), p = 1 / number of edits, ranked by worth.
    """

    def __init__(self, edits: Sequence[str]):
        self._statistics = EditStatistics(edits)
        self._current = self._statistics.edits[0]

    def choose(self, children: int, rng: Random) -> list[Moves]:
        ranks = self._ranks()
        return [(self._one(ranks, rng),) for _ in range(children)]

    def _one(self, ranks: Mapping[str, int], rng: Random) -> str:
        edits = self._statistics.edits
        p = 1 / len(edits)
        while True:
            proposed = edits[int(rng.integers(len(edits)))]
            if rng.random() < (1 - p) ** (ranks[proposed] - ranks[self._current]):
                self._current = proposed
                self._statistics.tried(proposed)
                return proposed

    def _ranks(self) -> dict[str, int]:
        best_first = sorted(self._statistics.edits, key=lambda edit: -self._statistics.mean(edit))
        return {edit: rank for rank, edit in enumerate(best_first)}

    def learn(self, worth: Mapping[Moves, float]) -> None:
        self._statistics.learn(worth)


class Bandit:
    """Chooses the edit whose worth could be largest, by its mean and by how little is known of it (UCB1)."""

    def __init__(self, edits: Sequence[str]):
        self._statistics = EditStatistics(edits)

    def choose(self, children: int, rng: Random) -> list[Moves]:
        return [(self._one(rng),) for _ in range(children)]

    def _one(self, rng: Random) -> str:
        edits = self._statistics.edits
        order = [edits[int(place)] for place in rng.permutation(len(edits))]
        edit = max(order, key=self._bound)
        self._statistics.tried(edit)
        return edit

    def _bound(self, edit: str) -> float:
        tries = self._statistics.tries_of(edit)
        if not tries:
            return math.inf
        return self._statistics.mean(edit) + BREADTH * math.sqrt(math.log(self._statistics.tries) / tries)

    def learn(self, worth: Mapping[Moves, float]) -> None:
        self._statistics.learn(worth)


class UniformEdits:
    """Chooses every edit with the same probability: the baseline, which learns nothing."""

    def __init__(self, edits: Sequence[str]):
        self._edits = tuple(edits)

    def choose(self, children: int, rng: Random) -> list[Moves]:
        return [(self._edits[place],) for place in rng.integers(len(self._edits), size=children)]

    def learn(self, worth: Mapping[Moves, float]) -> None:
        """Nothing is worth more than anything else."""


EDIT_STRATEGIES: Mapping[str, Callable[[Sequence[str]], EditStrategy]] = {
    "greedy": Greedy,
    "genetic": Genetic,
    "mcmc": MetropolisHastings,
    "bandit": Bandit,
    "random": UniformEdits,
}
