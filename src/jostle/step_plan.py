"""What a step runs: parents that the scheduler draws, changed by the mutator."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.interfaces import Mutator, Scheduler
from jostle.randomness import randomness
from jostle.records import Candidates
from jostle.storage.corpus import Corpus


@dataclass(frozen=True)
class StepPlan:
    """A step that is ready to run."""

    asked: int  # inputs; a mutator may make fewer
    candidates: Candidates


@dataclass(frozen=True)
class StepPlanner:
    """Plans and mutates, each step by randomness of its own."""

    scheduler: Scheduler
    mutator: Mutator
    corpus: Corpus
    seed: int

    def plan(self, step: int, rows: int) -> StepPlan | None:
        """So many inputs for a step; none if there is nothing to mutate."""
        rng = randomness(self.seed, step)
        ids = self._drawn(rows, rng)
        return StepPlan(rows, self.mutator.mutate(self.corpus.as_parents(ids), rng)) if len(ids) else None

    def plan_again(self, step: int, rows: int) -> None:
        """Has the scheduler remember a step whose inputs are not needed."""
        self._drawn(rows, randomness(self.seed, step))

    def _drawn(self, rows: int, rng: torch.Generator) -> Tensor:
        """Ids of parents [at most rows]."""
        return self.scheduler.plan(len(self.corpus), rows, rng)
