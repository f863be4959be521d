"""Which entry of a campaign's corpus is which entry of one worker's."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.mutations import with_room

ABSENT = -1


class CorpusIds:
    """Ids in the campaign's corpus by id in a worker's, and back; entries are added in the worker's order."""

    def __init__(self, entries: int):
        """A worker that has begun from all of so many entries."""
        self._theirs, self._count = torch.arange(entries), entries  # by the worker's id
        self._own = torch.arange(entries)  # by the campaign's id

    def add(self, ids: Tensor) -> None:
        """The worker has these entries [n] of the campaign too, from now on."""
        first, self._count = self._count, self._count + len(ids)
        self._theirs = with_room(self._theirs, self._count)
        self._theirs[first : self._count] = ids
        if len(ids):
            room = len(self._own)
            self._own = with_room(self._own, int(ids.max()) + 1)
            self._own[room:] = ABSENT
            self._own[ids] = torch.arange(first, self._count)

    def of_campaign(self, own: Tensor) -> Tensor:
        """Of the worker's ids [n] those in the campaign; what is no id stays as it is."""
        return torch.where(own < 0, own, self._theirs[own.clamp(min=0)])

    def of_worker(self, ids: Tensor, parents: Tensor) -> Tensor:
        """Of the campaign's ids [n] the worker's, or of the nearest ancestor that it has.

        `parents` [entries] are those of the campaign's corpus. Every worker has all seeds, so there is one.
        """
        ids = ids.clone()
        while (missing := self._missing(ids)).any():
            ids[missing] = parents[ids[missing]]
        return torch.where(ids < 0, ids, self._own[ids.clamp(min=0)])

    def _missing(self, ids: Tensor) -> Tensor:
        """[n] bool"""
        known = ids.clamp(min=0, max=len(self._own) - 1)
        return (ids >= 0) & ((ids >= len(self._own)) | (self._own[known] == ABSENT))
