"""A few edits to rows of tokens or characters, never more than so many from the root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from jostle.inputs.edit_distance import edit_distances
from jostle.inputs.tokens import FARTHEST, Tokens
from jostle.lineage import UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import number
from jostle.records import NO_PARENT, Candidates

FEW = 2  # edits of one child at most
MOST = 16  # edits between root and child at most, where the bound is a share of a long row
FROM_ROOT = "from the root"  # what a child says whose parent is as far from the root as it may be


@dataclass(frozen=True)
class EditOptions:
    """How far edits may lead."""

    edits: float = option(
        number(
            f"give a share of a row, such as 0.15, or a number of edits up to {FARTHEST}", above=0, at_most=FARTHEST
        ),
        f"Most edits between root and mutant: below 1 a share of its length, at most {MOST}; else so many",
        Theme.MUTATION,
        default=0.15,
    )


class Edited(NamedTuple):
    """Rows after one more edit each; row i of every field belongs to row i."""

    rows: Tensor  # [batch, width]
    costs: Tensor  # [batch] how many insertions, deletions and substitutions it was, 0 where nothing could be done
    names: Sequence[str]  # [batch] what was done


class RowEdits(Protocol):
    """One edit to each row of a batch."""

    def edit(self, rows: Tensor, labels: Tensor, left: Tensor, rng: torch.Generator) -> Edited:
        """Rows [batch, width], whose roots have these labels, each after an edit that costs at most what is left."""


class BoundedEdits:
    """One or two edits of each row, as far as the bound around its root allows.

    What a parent may still be changed by is the bound less its edit distance from the root; a child of a parent that is
    at the bound begins at the root again.
    """

    def __init__(self, domain: Tokens, one: RowEdits, edits: float = EditOptions.edits):
        check(EditOptions, edits=edits)
        self._domain, self._one, self._edits = domain, one, edits

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        rows, left, restarted = self._begun(parents)
        labels = parents.labels
        counts = (torch.rand(len(parents), generator=rng) * left.clamp(max=FEW)).long() + 1
        names: list[list[str]] = [[FROM_ROOT] if one else [] for one in restarted.tolist()]
        for step in range(int(counts.max())):
            some = (counts > step).nonzero().squeeze(1)
            edited = self._one.edit(rows.index_select(0, some), labels[some], left[some], rng)
            rows = rows.index_copy(0, some, edited.rows)
            left.index_add_(0, some, -edited.costs)
            for row, name, cost in zip(some.tolist(), edited.names, edited.costs.tolist(), strict=True):
                if cost:
                    names[row].append(name)
            counts = torch.where(left > 0, counts, 0)
        changed = (rows != parents.inputs).any(1).tolist()
        mutations = Mutations.of(
            Mutation(tuple(done)) if other else UNCHANGED for done, other in zip(names, changed, strict=True)
        )
        return replace(parents, inputs=rows, mutations=mutations)

    def bounds(self, roots: Tensor) -> Tensor:
        """[batch] the most edits between each root [batch, width] and what is made of it."""
        lengths = self._domain.lengths(roots)
        if self._edits >= 1:
            return torch.full_like(lengths, int(self._edits))
        return (lengths * self._edits).ceil().long().clamp(1, MOST)

    def _begun(self, parents: Candidates) -> tuple[Tensor, Tensor, Tensor]:
        """Rows to begin from, how many edits each has left, and which of them are roots because none was left."""
        roots, bounds = parents.references, self.bounds(parents.references)
        left = bounds - self._distances(parents, roots, bounds)
        restarted = left < 1
        rows = torch.where(restarted[:, None], roots, parents.inputs)
        return rows, torch.where(restarted, bounds, left), restarted

    def _distances(self, parents: Candidates, roots: Tensor, bounds: Tensor) -> Tensor:
        """Of each parent from its root [batch], or more where the places that differ leave edits; siblings share it."""
        own = torch.where(parents.parents == NO_PARENT, -1 - torch.arange(len(parents)), parents.parents)
        _, places = own.unique(return_inverse=True)
        first = torch.full((int(places.max()) + 1,), len(parents)).scatter_reduce_(
            0, places, torch.arange(len(parents)), "amin"
        )
        rows, first_roots, first_bounds = parents.inputs[first], roots[first], bounds[first]
        found = (rows != first_roots).sum(1)  # never less than the edits, and quickly told
        some = (found >= first_bounds).nonzero().squeeze(1)
        if len(some):
            rows, first_roots = rows[some], first_roots[some]
            lengths, root_lengths = self._domain.lengths(rows), self._domain.lengths(first_roots)
            found[some] = edit_distances(rows, first_roots, lengths, root_lengths, int(first_bounds.max()))
        return found[places]


class EditKind(IntEnum):
    """What an edit does at its place."""

    NOTHING = 0
    SUBSTITUTE = 1
    DELETE = 2
    INSERT = 3  # before the place
    SWAP = 4  # with the next
    DUPLICATE = 5


COSTS = torch.tensor([0, 1, 1, 1, 2, 1])  # by kind, in insertions, deletions and substitutions


def with_edit(rows: Tensor, kinds: Tensor, places: Tensor, tokens: Tensor, fill: int) -> Tensor:
    """Rows [batch, width], each edited at its place [batch]; tokens [batch] are written, `fill` follows a deletion."""
    grows = (kinds == EditKind.INSERT) | (kinds == EditKind.DUPLICATE)
    shifts = (kinds == EditKind.DELETE).long() - grows.long()  # of what is taken from where, behind the place
    at = torch.arange(rows.shape[1])
    source = (at >= (places + grows)[:, None]) * shifts[:, None] + at
    swapped = (kinds == EditKind.SWAP).nonzero().squeeze(1)
    source[swapped, places[swapped]] += 1
    source[swapped, places[swapped] + 1] -= 1
    children = torch.cat([rows, rows.new_full((len(rows), 1), fill)], 1).gather(1, source)
    written = ((kinds == EditKind.SUBSTITUTE) | (kinds == EditKind.INSERT)).nonzero().squeeze(1)
    children[written, places[written]] = tokens[written]
    return children


def drawn_places(allowed: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """A place [batch] among those allowed in each row [batch, width], and how many there are [batch]."""
    counted = allowed.cumsum(1)
    count = counted[:, -1]
    wanted = (torch.rand(len(allowed), generator=rng) * count).long() + 1
    places = torch.searchsorted(counted, wanted[:, None]).squeeze(1)
    return places.clamp(max=allowed.shape[1] - 1), count
