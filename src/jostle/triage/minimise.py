"""Shrinking what was changed, while the same bug shows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.inputs.distances import columns, lengths
from jostle.triage.deadline import never

HALVINGS = 7  # of the way between reference and input
DROPPED = (0.5, 0.3, 0.15)  # share of the changed values that is tried to be left as it was, the smallest changes first
STEPS = 20  # of circling the reference, nearer and nearer
TURN, CLOSER = 0.5, 0.1  # how far around and how much nearer the first step goes, in shares of the distance
BETTER = 1e-4  # relative: what counts as nearer
SINGLY = 16  # changes at most that are tried to be undone one after another, the smallest first
DIGITS = (1, 2, 3)  # of plain values, the plainest first
ROUNDING = 1e-5  # of a unit: values of so many digits are no farther than they are, though float32 misses them
PLAINER = 1.05  # times as far may plain values be from the reference


@dataclass(frozen=True)
class Boundary:
    """Where a bug begins, near some inputs, as far as a gradient tells."""

    excess: Tensor  # [findings] by how much each input is beyond it, below zero before it
    normal: Tensor  # [findings, ...] how that grows with the input


@dataclass(frozen=True)
class Shrinking:
    """How to tell whether inputs still show their bugs, and what inputs can be; row i belongs to finding i."""

    references: Tensor  # [findings, ...] to shrink towards
    shows: Callable[[Tensor, Tensor], Tensor]  # (rows, inputs of these rows) -> [rows] bool
    storable: Callable[[Tensor], Tensor]  # the nearest inputs that are in range and that a file can hold
    boundary: Callable[[Tensor], Boundary] | None = None  # near inputs [findings, ...]
    same_kind: bool = False  # the change may only get smaller, because its shape is what makes it real
    plain: bool = False  # values of few digits are sought in the end
    spent: Callable[[], bool] = never  # there is no time left, and gradients take time


def minimised(inputs: Tensor, how: Shrinking) -> Tensor:
    """Inputs [findings, ...] at most as far from their references, each still showing its bug.

    Values are halved towards the reference and small changes undone; with gradients, the reference is circled along
    the bug's boundary too, to where that is nearest. In the end changed values are rounded, where asked for.
    """
    best = _Best(inputs.clone(), how)
    best.halve()
    if how.same_kind:
        return best.inputs
    if how.boundary is not None:
        best.circle(how.boundary)
    for share in DROPPED:
        best.drop(share)
    best.drop_singly()
    best.halve()
    if how.plain:
        best.round()
    return best.inputs


class _Best:
    """The smallest changes so far."""

    def __init__(self, inputs: Tensor, how: Shrinking):
        self.inputs, self._how = inputs, how
        self._first = lengths(inputs.float() - how.references.float())

    def halve(self) -> None:
        """Bisection between reference and input: what shows the bug is the new end."""
        start = self.inputs
        shown, hidden = torch.ones(len(start)), torch.zeros(len(start))
        for _ in range(HALVINGS):
            middle = (shown + hidden) / 2
            took = self._take(self._between(start, middle))
            shown, hidden = torch.where(took, middle, shown), torch.where(took, hidden, middle)

    def drop(self, share: float) -> None:
        """Undoes the smallest changes, this share of those that there are."""
        ranks, changed = self._ranks()
        self._undo(ranks < (share * changed)[:, None])

    def drop_singly(self) -> None:
        """Undoes one change after another, of those that are smallest now."""
        ranks, changed = self._ranks()
        for rank in range(min(SINGLY, int(changed.max()))):
            self._undo((ranks == rank) & (rank < changed)[:, None])

    def _ranks(self) -> tuple[Tensor, Tensor]:
        """[findings, values] which change is the smallest, the next and so on, and how many [findings] there are."""
        change = (self.inputs.float() - self._how.references.float()).abs().flatten(1)
        order = change.where(change > 0, torch.inf).argsort(dim=1)
        ranks = torch.empty_like(order).scatter_(1, order, torch.arange(order.shape[1]).expand_as(order))
        return ranks, (change > 0).sum(1)

    def _undo(self, which: Tensor) -> None:
        """Undoes the changes which [findings, values] is true of, however small, where the bug shows without them."""
        undone = torch.where(which.view_as(self.inputs), self._how.references, self.inputs)
        self._show(undone, (undone != self.inputs).flatten(1).any(1))

    def circle(self, boundary: Callable[[Tensor], Boundary]) -> None:
        """Turns towards the bug at a distance that shrinks while the bug shows and grows while it does not.

        As in Decoupling Direction and Norm (Rony et al., CVPR 2019), begun from where the bug shows.
        """
        references, here = self._how.references.float(), self.inputs
        radius = self._lengths(here)
        for step in range(STEPS):
            if self._how.spent():
                return
            ahead = boundary(here)
            pace = (1 + math.cos(math.pi * step / STEPS)) / 2
            closer = CLOSER * pace + 0.002
            nearest = torch.minimum(radius, self._lengths(self.inputs))
            radius = torch.where(ahead.excess > 0, nearest * (1 - closer), radius * (1 + closer))
            normal = ahead.normal.nan_to_num(0, 0, 0)
            turn = (TURN * pace + 0.01) * radius / lengths(normal).clamp(min=1e-30)
            change = here.float() - references + normal * columns(turn, here)
            change *= columns(radius / lengths(change).clamp(min=1e-30), here)
            here = self._how.storable(references + change).to(here.dtype)
            self._take(here)

    def round(self) -> None:
        """Gives changed values as few digits as show the bug, little farther away and never farther than at first."""
        left = torch.full((len(self.inputs),), self.inputs.is_floating_point())
        for digits in DIGITS:
            for rounded in (_nearest, _farther):
                if left.any():
                    left &= ~self._take_plain(rounded(self.inputs, self._how.references, digits), left)

    def _take_plain(self, values: Tensor, which: Tensor) -> Tensor:
        """Takes values where they show the bug and are near enough; which rows [findings] do."""
        references = self._how.references
        plain = torch.where(self.inputs == references, references, values.to(references.dtype))
        tried = self._how.storable(plain).to(self.inputs.dtype)
        limits = torch.minimum(PLAINER * self._lengths(self.inputs), self._first)
        return self._show(tried, which & (self._lengths(tried) <= limits))

    def _lengths(self, inputs: Tensor) -> Tensor:
        return lengths(inputs.float() - self._how.references.float())

    def _between(self, ends: Tensor, shares: Tensor) -> Tensor:
        references = self._how.references.float()
        return self._how.storable(references + columns(shares, ends) * (ends.float() - references))

    def _take(self, tried: Tensor) -> Tensor:
        """Keeps what is nearer and shows the bug; which rows [findings] show it."""
        tried = tried.to(self.inputs.dtype)
        return self._show(tried, self._lengths(tried) < (1 - BETTER) * self._lengths(self.inputs))

    def _show(self, tried: Tensor, which: Tensor) -> Tensor:
        """Keeps those of the rows which [findings] is true of that show the bug; which they are."""
        rows = which.nonzero().squeeze(1)
        took = torch.zeros(len(tried), dtype=torch.bool)
        if len(rows):
            took[rows] = self._how.shows(rows, tried[rows])
            self.inputs[took] = tried[took]
        return took


def _nearest(values: Tensor, references: Tensor, digits: int) -> Tensor:
    """The nearest values of so many digits."""
    units = _units(values, digits)
    return (values.double() / units).round() * units


def _farther(values: Tensor, references: Tensor, digits: int) -> Tensor:
    """The next values of so many digits, away from the references."""
    units = _units(values, digits)
    steps = values.double() / units
    return torch.where(values > references, (steps - ROUNDING).ceil(), (steps + ROUNDING).floor()) * units


def _units(values: Tensor, digits: int) -> Tensor:
    """The last of so many digits that each value has."""
    sizes = values.double().abs()
    return 10.0 ** (torch.where(sizes > 0, sizes, 1.0).log10().floor() - digits + 1)
