"""The sweep of a campaign: children that are no edits of their parents, but new models of one operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jostle.frameworks.strategies.strategy import Random
from jostle.frameworks.strategies.sweep_share import FINDING, EarnedShare, FixedShare, SweepShare, Worth
from jostle.lineage import Mutation
from jostle.records import Lesson

SWEEP = "sweep"  # the operation that makes such a child
AUTO = "auto"  # the share that is earned


@dataclass(frozen=True)
class SweptModel:
    """A child to be drawn anew."""

    operator: str


class Sweep:
    """Which children of a step are swept, and of which operators: all of them in a drawn order, then all again."""

    def __init__(self, operators: Sequence[str], share: SweepShare, nodes_of: Callable[[int], int], worker: int = 0):
        """`nodes_of` tells how many nodes the graph behind an input's number has; `worker` is whose sweep it is."""
        self._operators, self._share, self._nodes_of = tuple(operators), share, nodes_of
        self._worker = worker
        self._round: list[str] = []  # operators whose turn is still to come
        self._nodes: list[int] = []  # of each entry

    def choose(self, children: int, rng: Random) -> list[SweptModel]:
        """Those of so many children that are swept."""
        return [SweptModel(self._next(rng)) for _ in range(self._share.choose(children, rng))]

    def _next(self, rng: Random) -> str:
        if not self._round:
            self._round = [self._operators[place] for place in rng.permutation(len(self._operators))]
        return self._round.pop()

    def ran(self, swept: int, parents: Sequence[int]) -> None:
        """Takes in what a step runs: so many swept models, and children of these entries."""
        self._share.ran(swept, [self._nodes[entry] for entry in parents])

    def learn(self, lesson: Lesson) -> None:
        self._nodes += [self._nodes_of(number) for number in lesson.kept.inputs.flatten().tolist()]
        if lesson.worker not in (None, self._worker):  # who has not told what its children cost
            return
        earned = list(zip(lesson.kept.mutations, (lesson.gains > 0).sum(1).tolist(), strict=True))
        earned += [(mutation, FINDING) for mutation in lesson.found]
        swept = sum(worth for mutation, worth in earned if is_swept(mutation))
        edited = sum(worth for mutation, worth in earned if mutation.operations and not is_swept(mutation))
        self._share.learn(Worth(swept, edited))  # models to begin from were made by neither


def is_swept(mutation: Mutation) -> bool:
    return SWEEP in mutation.operations


def share_of(sweep: float | str, operators: Sequence[str]) -> SweepShare:
    """As the user chose it; what is earned begins with a round through all operators."""
    return EarnedShare(len(operators)) if isinstance(sweep, str) else FixedShare(sweep)
