"""Which entry of a campaign's corpus is which entry of one worker's."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.mutations import with_room


class CorpusIds:
    """Ids in the campaign's corpus by id in a worker's: entries that it began from, then those that it kept."""

    def __init__(self, entries: int):
        """A worker that has begun from all of so many entries."""
        self._ids, self._count = torch.arange(entries), entries

    def add(self, ids: Tensor) -> None:
        """What the worker kept next has these ids [n] in the campaign."""
        first, self._count = self._count, self._count + len(ids)
        self._ids = with_room(self._ids, self._count)
        self._ids[first : self._count] = ids

    def of_campaign(self, own: Tensor) -> Tensor:
        """Of the worker's ids [n] those in the campaign; what is no id stays as it is."""
        return torch.where(own < 0, own, self._ids[own.clamp(min=0)])
