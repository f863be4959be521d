"""How inputs came from their seeds: the mutation that made each, and what mutators must know of the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

THEN = " + "  # between the operations of one mutation
MADE = ": "  # between the mutator and what it did


class Change(Enum):
    """What came of a mutation; the value is its text, where operations do not give one."""

    SEED = ""  # there was none
    CHANGED = "changed"
    UNCHANGED = "unchanged"  # the child came out like its parent
    NO_GRADIENT = "gradient not finite"  # the gradient, needed to go on from the parent, is not finite


class Mutation(NamedTuple):  # made twice as fast as a frozen dataclass, for every row
    """What made an input from its parent; journals and corpus files hold its text."""

    operations: tuple[str, ...] = ()  # one after another
    mutator: str = ""  # which of several it was, "" where there is one
    change: Change = Change.CHANGED

    def __str__(self) -> str:
        if self.change is not Change.CHANGED:
            return str(self.change.value)
        operations = THEN.join(self.operations)
        return f"{self.mutator}{MADE}{operations}" if self.mutator else operations

    @staticmethod
    def parsed(text: str) -> Mutation:
        """The mutation that has this text."""
        if text in WITHOUT_OPERATIONS:
            return WITHOUT_OPERATIONS[text]
        mutator, _, operations = text.partition(MADE) if MADE in text else ("", "", text)
        return Mutation(tuple(operations.split(THEN)), mutator)


SEED = Mutation(change=Change.SEED)
UNCHANGED = Mutation(change=Change.UNCHANGED)
NO_GRADIENT = Mutation(change=Change.NO_GRADIENT)
WITHOUT_OPERATIONS = {str(mutation): mutation for mutation in (SEED, UNCHANGED, NO_GRADIENT)}


class Lineage(Protocol):
    """What mutators must know of the way of each input from its root, as one array; the mutator that needs it owns it.

    All rows of a campaign have the same kind of lineage, but for those that are `Untouched`.
    """

    @property
    def rows(self) -> Tensor:
        """[batch, ...]"""

    @property
    def moved(self) -> Tensor:
        """[batch] bool: whether the reference of an input is another than its root."""

    def with_rows(self, rows: Tensor) -> Lineage:
        """The same kind of lineage of other inputs."""

    def untouched(self, count: int) -> Lineage:
        """The same kind of lineage of inputs on whose way nothing happened that it knows of."""

    def references(self, originals: Tensor) -> Tensor:
        """What inputs are compared with [batch, ...], given the root of each, which may be written over."""


@dataclass(frozen=True)
class Untouched:
    """The lineage of inputs whose mutators need to know nothing of their way: references are the roots."""

    count: int

    @property
    def rows(self) -> Tensor:
        return torch.empty(self.count, 0, dtype=torch.float32)

    @property
    def moved(self) -> Tensor:
        return torch.zeros(self.count, dtype=torch.bool)

    def with_rows(self, rows: Tensor) -> Untouched:
        return Untouched(len(rows))

    def untouched(self, count: int) -> Untouched:
        return Untouched(count)

    def references(self, originals: Tensor) -> Tensor:
        return originals


@dataclass(frozen=True)
class Compared:
    """The lineage of inputs of which nothing is known but what they are compared with."""

    rows: Tensor  # [batch, ...] those references

    @property
    def moved(self) -> Tensor:
        return torch.ones(len(self.rows), dtype=torch.bool)

    def with_rows(self, rows: Tensor) -> Compared:
        return Compared(rows)

    def untouched(self, count: int) -> Untouched:
        return Untouched(count)

    def references(self, originals: Tensor) -> Tensor:
        return self.rows


def of_one_kind(parts: Sequence[Lineage]) -> list[Lineage]:
    """The same lineages, those that are untouched in the form of the others."""
    kind = next((part for part in parts if not isinstance(part, Untouched)), parts[0])
    return [kind.untouched(part.count) if isinstance(part, Untouched) else part for part in parts]


def selected(lineage: Lineage, rows: Tensor) -> Lineage:
    """The lineage of these rows, given as positions."""
    return lineage.with_rows(lineage.rows.index_select(0, rows))


def joined(parts: Sequence[Lineage]) -> Lineage:
    """The rows of several lineages, one after another."""
    alike = of_one_kind(parts)
    return alike[0].with_rows(torch.cat([part.rows for part in alike]))
