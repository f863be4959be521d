"""The inputs that earned a place, with their lineage."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from jostle.lineage import Lineage, Mutation, Untouched, of_one_kind, selected
from jostle.records import NO_PARENT, Candidates, Seeds


class Corpus:
    """Everything kept, by id in the order of arrival; grows by doubling, so adding and selecting stay cheap."""

    def __init__(self, seeds: Seeds):
        self._seeds = seeds
        self._inputs = seeds.inputs[:0].clone()
        self._parents = torch.empty(0, dtype=torch.int64)
        self._roots = torch.empty(0, dtype=torch.int64)
        self._lineage: Lineage = Untouched(0)
        self._mutations: list[Mutation] = []
        self._planted = 0

    def __len__(self) -> int:
        return len(self._mutations)

    @property
    def mutants(self) -> int:
        """Entries that are no seeds."""
        return len(self) - self._planted

    def add(self, kept: Candidates) -> None:
        start, end = len(self), len(self) + len(kept)
        self._inputs = _with_room(self._inputs, end)
        self._parents = _with_room(self._parents, end)
        self._roots = _with_room(self._roots, end)
        self._inputs[start:end] = kept.inputs
        self._parents[start:end] = kept.parents
        self._roots[start:end] = kept.roots
        own, new = of_one_kind([self._lineage, kept.lineage])
        self._lineage = own.with_rows(_with_room(own.rows, end))
        self._lineage.rows[start:end] = new.rows
        self._mutations.extend(kept.mutations)
        self._planted += int((kept.parents == NO_PARENT).sum())

    def select(self, ids: Tensor) -> Candidates:
        """The entries as they are, each made by its own mutation from its own parent."""
        mutations = tuple(self._mutations[i] for i in ids.tolist())
        inputs, parents, roots = (array.index_select(0, ids) for array in (self._inputs, self._parents, self._roots))
        return Candidates(inputs, self._seeds, parents, roots, mutations, selected(self._lineage, ids))

    def as_parents(self, ids: Tensor) -> Candidates:
        """The entries as those that their children descend from."""
        return replace(self.select(ids), parents=ids)


def _with_room(rows: Tensor, needed: int) -> Tensor:
    """The same rows with space for at least `needed` of them."""
    if needed <= len(rows):
        return rows
    grown = rows.new_empty(max(needed, 2 * len(rows), 64), *rows.shape[1:])
    grown[: len(rows)] = rows
    return grown
