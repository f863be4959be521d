"""Which models to mutate: by their score, or in depth or breadth first, with edits chosen by a strategy.

Some children are swept: new models of one operator in place of edited ones.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from jostle.frameworks.campaign.mutator import Plan, numpy_randomness
from jostle.frameworks.campaign.sweep import Sweep, is_swept
from jostle.frameworks.strategies.strategy import EditStrategy, Moves, Random
from jostle.records import LIBRARY, NO_NUMBER, Lesson

ORDERS = ("score", "depth", "breadth")
NOBODY = 0  # drawn as the parent of what is swept, which has none
TURNS = 8  # children of the newest model before an older one has its turn again, depth first


@dataclass(frozen=True)
class Weights:
    """What makes a model worth mutating (the seed paper, §3.2)."""

    coverage: float = 1.0  # it makes more of the libraries work
    time: float = 1.0  # it was found later
    mutations: float = 1.0  # it was mutated less often


class SeedScores:
    """Draws parents by score, or takes the newest (depth) or the least mutated (breadth) first."""

    def __init__(
        self, strategy: EditStrategy, plan: Plan, weights: Weights, order: str = "score", sweep: Sweep | None = None
    ):
        """Without a sweep, every child is edited."""
        self._strategy, self._plan, self._weights, self._order = strategy, plan, weights, order
        self._sweep = sweep
        self._parts: list[int] = []  # of libraries that each entry made work
        self._mutated: list[int] = []  # how often each entry was

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        draws = numpy_randomness(rng)
        swept = self._sweep.choose(children, draws) if self._sweep else []
        parents = self._parents(children - len(swept), draws)
        if self._sweep:
            self._sweep.ran(len(swept), parents)
        self._plan.children = [*swept, *self._strategy.choose(len(parents), draws)]
        return torch.tensor([NOBODY] * len(swept) + parents, dtype=torch.int64)

    def _parents(self, children: int, rng: Random) -> list[int]:
        return self._by_score(children, rng) if self._order == "score" else self._in_order(children)

    def _by_score(self, children: int, rng: Random) -> list[int]:
        parts, mutated = np.array(self._parts, float), np.array(self._mutated, float)
        count, weights = len(parts), self._weights
        scores = (
            weights.coverage * parts / max(parts.max(), 1.0)
            + weights.time * np.arange(1, count + 1) / count
            + weights.mutations / (1.0 + mutated)
        )
        shares = scores / scores.sum() if scores.sum() > 0 else np.full(count, 1 / count)
        return [self._taken(int(entry)) for entry in rng.choice(count, children, p=shares)]

    def _in_order(self, children: int) -> list[int]:
        following = self._newest if self._order == "depth" else self._least_mutated
        return [self._taken(following()) for _ in range(children)]

    def _taken(self, entry: int) -> int:
        self._mutated[entry] += 1
        return entry

    def _newest(self) -> int:
        """Each entry in turn from the newest on, some times in a row."""
        turns = np.array(self._mutated) // TURNS
        return int(np.flatnonzero(turns == turns.min())[-1])

    def _least_mutated(self) -> int:
        return int(np.argmin(self._mutated))

    def learn(self, lesson: Lesson) -> None:
        if len(lesson.kept):
            self._parts += (lesson.trace.metadata[LIBRARY] != NO_NUMBER).sum(1).tolist()
            self._mutated += [0] * len(lesson.kept)
        if self._sweep:
            self._sweep.learn(lesson)
        worth: defaultdict[Moves, float] = defaultdict(float)
        gains = zip(lesson.kept.mutations, (lesson.gains > 0).sum(1).tolist(), strict=True)
        for mutation, value in (*gains, *((mutation, 1) for mutation in lesson.found)):
            if not is_swept(mutation):
                worth[mutation.operations] += value
        self._strategy.learn(worth)
