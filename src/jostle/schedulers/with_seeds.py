"""Any scheduler, with the seeds kept in play."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.interfaces import Learner, Scheduler
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import number
from jostle.records import Lesson


@dataclass(frozen=True)
class WithSeedsOptions:
    """How much the seeds are kept in play."""

    fresh: float = option(
        number("give a share from 0 to 1", at_least=0, at_most=1),
        "Share of the mutants made from seeds themselves (deephunter 0.5)",
        Theme.SCHEDULING,
        default=0.0,
    )


class WithSeeds:
    """Another scheduler, but for a share of the children whose parents are seeds, each as likely.

    Only what was never moved can take an affine step, and most of what a campaign keeps has been: without seeds, the
    search would soon only shade and speckle.
    """

    def __init__(self, scheduler: Scheduler, share: float = 0.5):
        check(WithSeedsOptions, fresh=share)
        self._scheduler, self._share = scheduler, share
        self._planted = 0

    def learn(self, lesson: Lesson) -> None:
        """Takes what is told first for the seeds, and passes all on to a scheduler that learns too."""
        self._planted = self._planted or len(lesson.kept)
        if isinstance(self._scheduler, Learner):
            self._scheduler.learn(lesson)

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        ids = self._scheduler.plan(entries, children, rng)
        seeds = torch.randint(self._planted, (len(ids),), generator=rng)
        return torch.where(torch.rand(len(ids), generator=rng, dtype=torch.float32) < self._share, seeds, ids)
