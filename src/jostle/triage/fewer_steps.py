"""Fewer and smaller steps from a seed to a finding, while the same bug shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

HALVINGS = 6  # of how far a step goes

# Numbers of findings, and how far each of their steps goes -> [findings] bool: which show their bug
Shows = Callable[[Sequence[int], Sequence[Sequence[float]]], Tensor]


def smallest_shares(steps: Sequence[int], shows: Shows) -> list[tuple[float, ...] | None]:
    """How far each step of each finding must go, as a share of how far it went; None where going again shows nothing.

    Steps are left out one after another from the seed on, then those that are left are halved towards nothing.
    """
    search = _Search([[1.0] * count for count in steps], shows)
    again = search.shown_again()
    positions = range(max((steps[number] for number in again), default=0))
    for position in positions:
        search.leave_out(position, [number for number in again if position < steps[number]])
    for position in positions:
        search.halve(position, [number for number in again if position < steps[number]])
    return [tuple(shares) if number in set(again) else None for number, shares in enumerate(search.best)]


class _Search:
    """The smallest shares so far."""

    def __init__(self, best: list[list[float]], shows: Shows):
        self.best, self._shows = best, shows

    def shown_again(self) -> list[int]:
        """Findings that show their bug when all steps go as far as they went."""
        some = [number for number, shares in enumerate(self.best) if shares]
        shown = self._tried(some, [self.best[number] for number in some])
        return [number for number, yes in zip(some, shown, strict=True) if yes]

    def leave_out(self, position: int, numbers: Sequence[int]) -> None:
        """Tries the ways of these findings without one step; one step stays at least."""
        some = [number for number in numbers if sum(map(bool, self.best[number])) > 1]
        self._take(position, some, [0.0] * len(some))

    def halve(self, position: int, numbers: Sequence[int]) -> None:
        """Bisection of one step of these findings between nothing and how far it goes."""
        hidden = {number: 0.0 for number in numbers if self.best[number][position]}
        for _ in range(HALVINGS):
            middles = [(low + self.best[number][position]) / 2 for number, low in hidden.items()]
            took = self._take(position, list(hidden), middles)
            hidden |= {number: middle for number, middle, taken in zip(hidden, middles, took, strict=True) if not taken}

    def _take(self, position: int, numbers: Sequence[int], shares: Sequence[float]) -> list[bool]:
        """Takes these shares of one step where the bug still shows; which did."""
        ways = [[*self.best[number]] for number in numbers]
        for way, share in zip(ways, shares, strict=True):
            way[position] = share
        took = self._tried(numbers, ways)
        for number, way, taken in zip(numbers, ways, took, strict=True):
            if taken:
                self.best[number] = way
        return took

    def _tried(self, numbers: Sequence[int], ways: Sequence[Sequence[float]]) -> list[bool]:
        shown: list[bool] = self._shows(numbers, ways).tolist() if numbers else []
        return shown
