"""DLFuzz's seed list (Algorithm 1): each entry once, and what is worth it joins the list."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.distances import relative_distances
from jostle.records import NO_PARENT, Lesson
from jostle.schedulers.least_fuzzed import Growing


class SeedList:
    """Each entry in the order it came, mutated so many times in a row; what gains enough near its root joins the list.

    Enough is a share of all that was gained so far, and the less the more entries were mutated (DLFuzz §3.2). When
    every entry has had its turn, another round begins, unless the rounds are over.
    """

    def __init__(
        self,
        iterations: int = 3,
        limit: float = 0.02,
        desired: float = 0.01,
        rounds: int | None = None,
        depth: int | None = None,
    ):
        """`depth` is how many generations below its root an entry may be; None for any number of depth or rounds."""
        if not 0 <= desired < 1:
            raise UsageError(f"--desired {desired}: give the share of all coverage that a seed must add (0.01)")
        self._iterations, self._limit, self._desired, self._rounds = iterations, limit, desired, rounds
        self._depth = float("inf") if depth is None else depth
        self._depths = Growing()  # of every corpus entry below its root
        self._list = Growing()  # corpus ids
        self._next = 0  # place in the list
        self._round = 1
        self._mutated = 0  # entries so far
        self._gained = 0.0

    def learn(self, lesson: Lesson) -> None:
        """Adds the seeds, and mutants whose gain is desired and whose distance is small."""
        kept = lesson.kept
        if not len(kept):
            return
        gains = lesson.gains.nan_to_num(posinf=1.0).sum(1)
        desired = gains > self._desired / (1 + self._mutated) * self._gained
        near = relative_distances(kept.inputs, kept.references) < self._limit
        planted, known = kept.parents == NO_PARENT, len(self._depths)
        above = np.append(self._depths.values(), -1.0)  # the last for seeds, whose parent is -1
        depths = above[kept.parents.numpy()] + 1
        joins = planted | (desired & near & (torch.from_numpy(depths) <= self._depth))
        self._depths.extend(depths)
        self._list.extend(joins.nonzero().squeeze(1).double().numpy() + known)
        self._gained += float(gains.sum())

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        ids = self._list.values()
        lines = -(-children // self._iterations)
        if self._next == len(ids):
            if self._round == self._rounds:
                return torch.empty(0, dtype=torch.int64)
            self._round, self._next = self._round + 1, 0
        if self._round == 1:
            places = np.arange(self._next, min(self._next + lines, len(ids)))
        else:  # few entries fill a batch together
            places = np.arange(self._next, self._next + lines) % len(ids)
        self._next = min(self._next + lines, len(ids))
        self._mutated += len(places)
        return torch.from_numpy(ids[places].astype(np.int64)).repeat_interleave(self._iterations)[:children]
