"""The inputs that earned a place, with their lineage."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from jostle.lineage import Lineage, Untouched, of_one_kind, selected
from jostle.mutations import CollectedMutations, with_room
from jostle.records import NO_PARENT, Candidates, Seeds


class Corpus:
    """Everything kept, by id in the order of arrival; grows by doubling, so adding and selecting stay cheap."""

    def __init__(self, seeds: Seeds):
        self._seeds = seeds
        self._inputs = seeds.inputs[:0].clone()
        self._parents = torch.empty(0, dtype=torch.int64)
        self._roots = torch.empty(0, dtype=torch.int64)
        self._lineage: Lineage = Untouched(0)
        self._mutations = CollectedMutations()
        self._planted = 0

    def __len__(self) -> int:
        return len(self._mutations)

    @property
    def mutants(self) -> int:
        """Entries that are no seeds."""
        return len(self) - self._planted

    def add(self, kept: Candidates) -> None:
        start, end = len(self), len(self) + len(kept)
        self._inputs = with_room(self._inputs, end)
        self._parents = with_room(self._parents, end)
        self._roots = with_room(self._roots, end)
        self._inputs[start:end] = kept.inputs
        self._parents[start:end] = kept.parents
        self._roots[start:end] = kept.roots
        own, new = of_one_kind([self._lineage, kept.lineage])
        self._lineage = own.with_rows(with_room(own.rows, end))
        self._lineage.rows[start:end] = new.rows
        self._mutations.add(kept.mutations)
        self._planted += int((kept.parents == NO_PARENT).sum())

    def select(self, ids: Tensor) -> Candidates:
        """The entries as they are, each made by its own mutation from its own parent."""
        mutations = self._mutations.all().select(ids)
        inputs, parents, roots = (array.index_select(0, ids) for array in (self._inputs, self._parents, self._roots))
        return Candidates(inputs, self._seeds, parents, roots, mutations, selected(self._lineage, ids))

    def as_parents(self, ids: Tensor) -> Candidates:
        """The entries as those that their children descend from."""
        return replace(self.select(ids), parents=ids)
