"""How findings came from their seeds, read from a campaign's corpus without its model or its seeds."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor

from jostle.lineage import Change, Mutation
from jostle.records import NO_PARENT
from jostle.storage.finding_record import FindingRecord
from jostle.storage.journal import JOURNAL, read_journal
from jostle.storage.repair import entries_path
from jostle.untrusted.json_text import parsed_json
from jostle.untrusted.tensor_files import opened_tensors

LONGEST = 100_000  # generations; more are a damaged corpus


@dataclass(frozen=True)
class StepEntries:
    """What one step kept; all of it empty where its file cannot be read."""

    path: Path
    parents: tuple[int, ...] = ()
    mutations: tuple[str, ...] = ()


class Ancestry:
    """Parents and mutations of a campaign's corpus; what cannot be read is as if nothing were known of it."""

    def __init__(self, files: list[Path], starts: list[int]):
        self._files, self._starts = files, starts  # of steps that kept something; the id of the first entry of each
        self._read: dict[int, StepEntries] = {}

    @staticmethod
    def of(folder: Path) -> Ancestry:
        """Of the campaign in this folder, as far as its journal tells; it may be running."""
        lines = [line for line in read_journal(folder / JOURNAL).lines if line.kept]
        starts = list(accumulate((line.kept for line in lines), initial=0))
        return Ancestry([entries_path(folder, line.step) for line in lines], starts[:-1])

    def steps(self, record: FindingRecord) -> tuple[Mutation, ...]:
        """The mutations that made a finding's input, from the seed on; none of a seed itself."""
        texts = [self._mutation(number) for number in self._way(record)]
        before = [Mutation.parsed(text) for text in texts if text]
        own = [record.mutation] if record.mutation.change is Change.CHANGED else []
        return (*(one for one in before if one.change is Change.CHANGED), *own)

    def inputs(self, record: FindingRecord) -> list[Tensor]:
        """The arrays along the way, from the seed on up to the parent; the finding's own stands in its folder."""
        arrays = (self._input(number) for number in self._way(record))
        return [array for array in arrays if array is not None]

    def _way(self, record: FindingRecord) -> list[int]:
        """Ids of the ancestors, the seed first."""
        way: list[int] = []
        number = record.parent
        while number != NO_PARENT and len(way) < LONGEST:
            way.append(number)
            parent = self._parent(number)
            if not NO_PARENT <= parent < number:  # parents come before their children, else it is damaged
                break
            number = parent
        return way[::-1]

    def _parent(self, number: int) -> int:
        entries, row = self._entry(number)
        return entries.parents[row] if row < len(entries.parents) else NO_PARENT

    def _mutation(self, number: int) -> str:
        entries, row = self._entry(number)
        return entries.mutations[row] if row < len(entries.mutations) else ""

    def _input(self, number: int) -> Tensor | None:
        entries, row = self._entry(number)
        if row >= len(entries.parents):
            return None
        with opened_tensors(entries.path) as file:
            array: Tensor = file.get_slice("inputs")[row : row + 1]
        return array[0]

    def _entry(self, number: int) -> tuple[StepEntries, int]:
        """The entries among which one stands, and its row there."""
        at = bisect_right(self._starts, number) - 1
        if at < 0:
            return StepEntries(Path()), 0
        if at not in self._read:
            self._read[at] = read_entries(self._files[at])
        return self._read[at], number - self._starts[at]


def read_entries(path: Path) -> StepEntries:
    """What stands in the file of one step."""
    try:
        with opened_tensors(path) as file:
            parents = tuple(map(int, file.get_tensor("parents").tolist()))
            mutations = tuple(map(str, parsed_json((file.metadata() or {})["steps"])))
            rows = file.get_slice("inputs").get_shape()[0]
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, IndexError):
        return StepEntries(path)
    return StepEntries(path, parents, mutations) if rows == len(parents) == len(mutations) else StepEntries(path)


def planted_seeds(folder: Path, roots: Tensor) -> Tensor:
    """[n, ...] the seeds of these numbers, but for those that the corpus does not hold or cannot give."""
    try:
        with opened_tensors(entries_path(folder, 0)) as file:
            inputs, planted = file.get_tensor("inputs"), file.get_tensor("roots")
        seeds: Tensor = inputs[torch.isin(planted, roots)]
        return seeds
    except (OSError, SafetensorError, KeyError, ValueError, IndexError, RuntimeError):
        return torch.empty(0)
