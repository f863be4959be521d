"""DeepHunter's batch pool with its power schedule (Algorithm 1, §3.3 and §3.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from jostle.inputs.distances import changed_by
from jostle.options.campaign import ChangeOptions, InputOptions
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import HELD
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import Candidates, Lesson
from jostle.schedulers.least_fuzzed import Growing, Numbers, Priority, PriorityOptions, drawn, priority_of

SEEDS_PER_BATCH = 100  # as in DeepHunter's experiments
LEAST_POTENTIAL = 1e-6


@dataclass(frozen=True)
class PoolOptions:
    """How much of a batch is mutated at once."""

    sample: int = option(HELD, "Entries of a batch that `pool` mutates at once", Theme.SCHEDULING, default=64)


class BatchPool:
    """Draws a batch fuzzed seldom, samples of it, and mutates those oftener that still have room to change.

    The seeds are split into batches; afterwards, what one step keeps is a batch, whose ids lie side by side. So are
    rounds of several workers split that an earlier run did, of which the steps are not known any more.
    """

    def __init__(
        self,
        span: float,
        beta: float = ChangeOptions.beta,
        sample: int = PoolOptions.sample,
        priority: Priority | None = None,
    ):
        check(PoolOptions, sample=sample)
        self._most_change = beta * span  # of one value
        self._sample = sample
        self._priority = priority or Priority()
        self._ends: list[int] = []  # of each batch: the id after its last entry
        self._fuzzed = Growing()  # how often each batch was drawn
        self._potentials = Growing()  # of each entry

    def learn(self, lesson: Lesson) -> None:
        """Takes in what a step kept, as batches."""
        kept = lesson.kept
        if not len(kept):
            return
        size = len(kept) if self._ends and lesson.worker is None else SEEDS_PER_BATCH
        start, end = len(self._potentials), len(self._potentials) + len(kept)
        self._potentials.extend(self._potential(kept))
        ends = [*range(start + size, end, size), end]
        self._ends.extend(ends)
        self._fuzzed.extend(np.zeros(len(ends)))

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        fuzzed = self._fuzzed.values()
        batch = int(drawn(self._priority.weights(fuzzed), 1, rng))
        fuzzed[batch] += 1
        start, end = self._ends[batch - 1] if batch else 0, self._ends[batch]
        sampled = start + torch.randperm(end - start, generator=rng)[: self._sample]
        return sampled[drawn(self._potentials.values()[sampled.numpy()], children, rng)]

    def _potential(self, kept: Candidates) -> Numbers:
        """Mutation potential: all that the values may change, less what they have changed already."""
        changes = changed_by(kept.inputs, kept.references).flatten(1)
        left = self._most_change * changes.shape[1] - changes.sum(1)
        potential: Numbers = left.clamp(min=LEAST_POTENTIAL * self._most_change).double().numpy()
        return potential


def _pool(settings: Settings, context: PartContext) -> BatchPool:
    low, high = settings[InputOptions].bounds
    return BatchPool(high - low, settings[ChangeOptions].beta, settings[PoolOptions].sample, priority_of(settings))


POOL = Part(first_line(BatchPool), _pool, (PoolOptions, PriorityOptions, ChangeOptions), bounded=True, plans_ahead=True)
