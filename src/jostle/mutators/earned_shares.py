"""How effort is shared among several ways to mutate: by the gain and findings per unit of cost of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

MEMORY = 0.9  # of the recent reward that is left after one step
EXPLORED = 0.2  # share of the effort that all get alike
FINDING = 10.0  # inputs with new coverage that a new bug is worth
LEAST = 1e-100  # reward that is left where nothing has paid for long, so that rates can still be compared


class EarnedShares:
    """The share of the mutants that each of several names makes.

    Nothing but what it is credited with decides them, so that the same lessons lead to the same shares.
    """

    def __init__(self, costs: Mapping[str, float]):
        """By name, what a mutant costs."""
        self._costs = costs
        self._reward = dict.fromkeys(costs, 1.0)
        self._effort = dict.fromkeys(costs, 1.0)

    def shares(self) -> dict[str, float]:
        """By name, the share of the next mutants."""
        rates = {name: self._reward[name] / (self._effort[name] * cost) for name, cost in self._costs.items()}
        whole = sum(rates.values())
        return {name: EXPLORED / len(rates) + (1 - EXPLORED) * rate / whole for name, rate in rates.items()}

    def credit(self, kept: Iterable[str], found: Iterable[str]) -> None:
        """Takes in a step: who made each input that was kept, and who was first to show each new bug."""
        shares, gains, bugs = self.shares(), Counter(kept), Counter(found)
        for name in self._costs:
            reward = MEMORY * self._reward[name] + gains[name] + FINDING * bugs[name]
            self._reward[name] = max(reward, LEAST)
            self._effort[name] = MEMORY * self._effort[name] + shares[name]
