"""Several mutators in one campaign: effort goes where it pays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jostle.interfaces import CountsTries, Learner, Mutator
from jostle.mutators.earned_shares import EarnedShares
from jostle.records import Candidates, Lesson
from jostle.step_records import Tries


@dataclass(frozen=True)
class Costed:
    """A mutator, and what a mutant of it costs, making and running it, in forward passes of the model."""

    mutator: Mutator
    cost: float = 1.0


class Mixed:
    """Several mutators, each with the share of the mutants that its gain and findings per unit of cost have earned.

    Cost is counted in passes of the model, which is what takes the time, and not in seconds, which differ from run to
    run: the same seed gives the same campaign.
    """

    def __init__(self, mutators: Mapping[str, Costed]):
        self._mutators = mutators
        self._earned = EarnedShares({name: made.cost for name, made in mutators.items()})

    def shares(self) -> dict[str, float]:
        """The share of the next mutants that each makes."""
        return self._earned.shares()

    def learn(self, lesson: Lesson) -> None:
        """Credits each mutator with what it was first to show, and passes the lesson on to those that learn too."""
        kept, found = ([mutation.mutator for mutation in some] for some in (lesson.kept.mutations, lesson.found))
        self._earned.credit(kept, found)
        for made in self._mutators.values():
            if isinstance(made.mutator, Learner):
                made.mutator.learn(lesson)

    def tries(self) -> dict[str, Tries]:
        """Those of all mutators that count them."""
        counting = (made.mutator for made in self._mutators.values() if isinstance(made.mutator, CountsTries))
        return {name: tries for mutator in counting for name, tries in mutator.tries().items()}

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        made = [
            _signed(name, self._mutators[name].mutator.mutate(parents.select(rows), rng))
            for name, rows in self._split(len(parents), rng).items()
            if len(rows)
        ]
        return Candidates.joined(made)

    def _split(self, rows: int, rng: torch.Generator) -> dict[str, Tensor]:
        """Neighbouring rows for each mutator, beginning anywhere, because rows of one parent stand together."""
        ends = torch.tensor(list(self.shares().values())).cumsum(0).mul(rows).round().long()
        ends[-1] = rows
        order = torch.arange(rows).roll(int(torch.randint(rows, (1,), generator=rng)))
        parts = order.tensor_split(ends[:-1])
        return dict(zip(self._mutators, parts, strict=True))


def _signed(name: str, made: Candidates) -> Candidates:
    """The same children, where they are changed with the name of their mutator."""
    return replace(made, mutations=made.mutations.made_by(name))
