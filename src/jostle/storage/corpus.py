"""The inputs that earned a place, with their lineage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from jostle.lineage import Lineage, Untouched, of_one_kind, selected
from jostle.mutations import CollectedMutations, with_room
from jostle.records import Candidates, Seeds
from jostle.storage.stored_rows import StoredRows


class Corpus:
    """Everything kept, by id in the order of arrival.

    Inputs take no more than so much memory, and what is beyond is on disk. All else that is known of an entry is in
    memory: 28 bytes, 24 more of images that were moved, and the text of its mutation where that has no usual form.
    """

    def __init__(self, seeds: Seeds, memory: int | None = None, folder: Path | None = None):
        """`memory` is in bytes, None is no bound; the folder is where what is beyond goes."""
        self._seeds = seeds
        self._inputs = StoredRows(seeds.inputs, memory, folder)
        self._parents = torch.empty(0, dtype=torch.int64)
        self._roots = torch.empty(0, dtype=torch.int64)
        self._lineage: Lineage = Untouched(0)
        self._mutations = CollectedMutations()
        self._planted = self._elsewhere = 0

    def __len__(self) -> int:
        return len(self._mutations) + self._elsewhere

    @property
    def mutants(self) -> int:
        """Entries that are no seeds."""
        return len(self) - self._planted

    @property
    def on_disk(self) -> int:
        """Bytes of inputs that memory had no room for."""
        return self._inputs.on_disk

    def close(self) -> None:
        """Gives back the room on disk; only what is in memory can still be selected."""
        self._inputs.close()

    def count(self, kept: Candidates) -> None:
        """Gives ids to entries that others hold, and that are never selected here; none can be added after them."""
        self._elsewhere += len(kept)

    def add(self, kept: Candidates) -> None:
        assert not self._elsewhere, "entries that others hold were counted before"
        start, end = len(self), len(self) + len(kept)
        self._inputs.add(kept.inputs)
        self._parents = with_room(self._parents, end)
        self._roots = with_room(self._roots, end)
        self._parents[start:end] = kept.parents
        self._roots[start:end] = kept.roots
        own, new = of_one_kind([self._lineage, kept.lineage])
        self._lineage = own.with_rows(with_room(own.rows, end))
        self._lineage.rows[start:end] = new.rows
        self._mutations.add(kept.mutations)
        self._planted += int(kept.mutations.of_seeds.sum())

    def select(self, ids: Tensor) -> Candidates:
        """The entries as they are, each made by its own mutation from its own parent."""
        parents, roots = (column.index_select(0, ids) for column in (self._parents, self._roots))
        mutations, lineage = self._mutations.all().select(ids), selected(self._lineage, ids)
        return Candidates(self._inputs.select(ids), self._seeds, parents, roots, mutations, lineage)

    def as_parents(self, ids: Tensor) -> Candidates:
        """The entries as those that their children descend from."""
        return replace(self.select(ids), parents=ids)
