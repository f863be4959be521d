"""How many children of a step are new models of one operator: a fixed share, or as many as such models earn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from jostle.frameworks.strategies.strategy import Random

FINDING = 10.0  # gains that a new defect is worth: a campaign is for defects, and gains only lead to them
MODEL_COST = 20.0  # nodes that take as long as what is done once for a model, measured on four backends
MEMORY = 0.995  # of what is known of worth and cost that is left one child later: what pays now is soon exhausted
FIRST_WORTH, FIRST_COST = 1.0, 20.0  # taken for granted, so that what was hardly tried is tried


@dataclass(frozen=True)
class Worth:
    """What children of a step brought, by how they were made."""

    swept: float
    edited: float


class SweepShare(Protocol):
    """Chooses how many children are swept, and may learn what they and the others were worth.

    Law: choosing and learning anew through the same steps leads to the same state.
    """

    def choose(self, children: int, rng: Random) -> int:
        """How many of so many children."""

    def ran(self, swept: int, edited: Sequence[int]) -> None:
        """Takes in what runs: so many models of one node, and so many nodes of each parent of the others."""

    def learn(self, worth: Worth) -> None: ...


class FixedShare:
    """Always the same share of all children so far."""

    def __init__(self, share: float):
        self._share, self._children, self._swept = share, 0, 0

    def choose(self, children: int, rng: Random) -> int:
        self._children += children
        chosen = round(self._share * self._children) - self._swept
        self._swept += chosen
        return chosen

    def ran(self, swept: int, edited: Sequence[int]) -> None:
        """A fixed share does not depend on it."""

    def learn(self, worth: Worth) -> None:
        """A fixed share does not depend on it."""


class Arm:
    """What one way to make children was worth and cost of late."""

    def __init__(self) -> None:
        self.worth = self.cost = 0.0

    def forget(self, children: int) -> None:
        self.worth *= MEMORY**children
        self.cost *= MEMORY**children

    def drawn_rates(self, children: int, rng: Random) -> Sequence[float]:
        """Worth per cost as it may be, once for each child: the less is known, the more these differ."""
        shape, scale = FIRST_WORTH + self.worth, 1 / (FIRST_COST + self.cost)
        rates: Sequence[float] = rng.gamma(shape, scale, children).tolist()
        return rates


class EarnedShare:
    """All children of a first round, then what a bandit chooses (Thompson sampling of Poisson rates).

    Cost is counted in nodes, not in seconds, which no second run would repeat.
    """

    def __init__(self, first_round: int):
        self._left = first_round
        self._sweep, self._edits = Arm(), Arm()

    def choose(self, children: int, rng: Random) -> int:
        if self._left:
            chosen = min(children, self._left)
            self._left -= chosen
            return chosen
        pairs = zip(self._sweep.drawn_rates(children, rng), self._edits.drawn_rates(children, rng), strict=True)
        return sum(sweep > edits for sweep, edits in pairs)

    def ran(self, swept: int, edited: Sequence[int]) -> None:
        for arm in (self._sweep, self._edits):
            arm.forget(swept + len(edited))
        self._sweep.cost += swept * (MODEL_COST + 1)
        self._edits.cost += sum(MODEL_COST + nodes for nodes in edited)

    def learn(self, worth: Worth) -> None:
        self._sweep.worth += worth.swept
        self._edits.worth += worth.edited
