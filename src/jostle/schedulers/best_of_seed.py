"""Hill climbing from every seed at once, most of it where the summit is near."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from jostle.part import Part, first_line
from jostle.records import Lesson
from jostle.schedulers.least_fuzzed import drawn

PATIENCE = 10  # mutants without a gain that cost a seed as much of its lead as one unit of gain earned


class BestOfSeed:
    """The newest entry of each seed, seeds that gained most first, unless they gain no more.

    The seed in place n is drawn 1/n times as often as the first, so that all go on and a few go on fast.
    """

    def __init__(self) -> None:
        self._newest = np.zeros(0, dtype=np.int64)  # by seed, the id of its newest entry; -1 if it has none
        self._gained = np.zeros(0)  # by seed
        self._tried = np.zeros(0)  # by seed, mutants since the last gain
        self._entries = 0

    def learn(self, lesson: Lesson) -> None:
        roots = lesson.kept.roots.numpy()
        self._make_room(len(lesson.kept.seeds))
        np.maximum.at(self._newest, roots, self._entries + np.arange(len(roots)))
        np.add.at(self._gained, roots, lesson.gains.nan_to_num(posinf=1.0).sum(1).double().numpy())
        self._tried[roots] = 0
        self._entries += len(roots)

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        seeds = np.flatnonzero(self._newest >= 0)
        score = self._gained[seeds] - self._tried[seeds] / PATIENCE
        ranked = seeds[np.argsort(-score, kind="stable")]
        chosen = ranked[drawn(1 / np.arange(1.0, len(ranked) + 1), children, rng).numpy()]
        np.add.at(self._tried, chosen, 1)
        return torch.from_numpy(self._newest[chosen])

    def _make_room(self, seeds: int) -> None:
        more = seeds - len(self._newest)
        if more > 0:
            self._newest = np.concatenate([self._newest, np.full(more, -1)])
            self._gained, self._tried = (np.concatenate([old, np.zeros(more)]) for old in (self._gained, self._tried))


CLIMB = Part(first_line(BestOfSeed), lambda settings, _: BestOfSeed())
