"""DLFuzz's seed list (Algorithm 1): each entry once, and what is worth it joins the list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.inputs.distances import relative_distances
from jostle.options.campaign import StepOptions
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import COUNT, number
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import ALL_OF_IT, NO_PARENT, Lesson, Share
from jostle.schedulers.least_fuzzed import Growing, Numbers


@dataclass(frozen=True)
class ListOptions:
    """What joins the list, and how often it is gone through."""

    desired: float = option(
        number("give the share of all coverage that a seed must add (0.01)", at_least=0, below=1),
        "Share of coverage that a mutant must add to join the list",
        Theme.SCHEDULING,
        default=0.01,
    )
    rounds: int | None = option(COUNT, "How often `list` goes through its entries (no limit)", Theme.SCHEDULING)
    depth: int | None = option(
        COUNT, "Generations below its seed that an entry of `list` may be (no limit)", Theme.SCHEDULING
    )


class SeedList:
    """Each entry in the order it came, mutated so many times in a row; what gains enough near its root joins the list.

    Enough is a share of all that was gained so far, and the less the more entries were mutated (DLFuzz §3.2). When
    every entry has had its turn, another round begins, unless the rounds are over.
    """

    def __init__(
        self,
        iterations: int = StepOptions.iterations,
        limit: float = StepOptions.limit,
        desired: float = ListOptions.desired,
        rounds: int | None = None,
        depth: int | None = None,
        share: Share = ALL_OF_IT,
    ):
        """`depth` is how many generations below its root an entry may be; None for any number of depth or rounds.

        Of several workers, each lists its share only.
        """
        check(ListOptions, desired=desired)
        self._iterations, self._limit, self._desired, self._rounds = iterations, limit, desired, rounds
        self._depth = float("inf") if depth is None else depth
        self._share = share
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
        near = torch.ones(len(kept), dtype=torch.bool)  # of tokens, which their mutator keeps near
        if kept.inputs.is_floating_point():
            near = relative_distances(kept.inputs, kept.references) < self._limit
        planted, known = kept.parents == NO_PARENT, len(self._depths)
        depths = self._depths_of(kept.parents.numpy())
        joins = planted | (desired & near & (torch.from_numpy(depths) <= self._depth))
        joins &= self._share.mine(known, lesson)
        self._depths.extend(depths)
        self._list.extend(joins.nonzero().squeeze(1).double().numpy() + known)
        self._gained += float(gains.sum())

    def _depths_of(self, parents: NDArray[np.int64]) -> Numbers:
        """Of entries that come next [n], of which some may be the parents of others."""
        depths, mutants = np.zeros(len(parents)), parents != NO_PARENT
        while True:  # once for each generation among them, and once more
            every = np.concatenate([self._depths.values(), depths])
            deeper = np.where(mutants, every[np.maximum(parents, 0)] + 1, 0)
            if np.array_equal(deeper, depths):
                return depths
            depths = deeper

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        ids = self._list.values()
        lines = -(-children // self._iterations)
        if not len(ids):
            return torch.empty(0, dtype=torch.int64)
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


def _list(settings: Settings, context: PartContext) -> SeedList:
    steps, options = settings[StepOptions], settings[ListOptions]
    return SeedList(steps.iterations, steps.limit, options.desired, options.rounds, options.depth, context.share)


LIST = Part(first_line(SeedList), _list, (ListOptions, StepOptions))
