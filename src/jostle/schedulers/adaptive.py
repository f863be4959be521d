"""Several criteria at once: effort goes where coverage still grows."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.part import Part, first_line
from jostle.records import Lesson
from jostle.schedulers.least_fuzzed import Growing, Numbers, Priority, PriorityOptions, drawn, priority_of

MEMORY = 0.95  # of the recent gain that is left after one step
EXPLORED = 0.1  # share of the effort that all criteria get alike


class WhereGainsCome:
    """Draws a criterion by how fast its coverage grows just now, then one of the entries that were new to it.

    Growth is the gain of the last steps as a share of all that the criterion ever gained, so criteria with many units
    and with few are comparable.
    """

    def __init__(self, priority: Priority | None = None):
        self._priority = priority or Priority()
        self._entries: list[Growing] = []  # of each criterion: ids of entries that were new to it
        self._fuzzed: list[Growing] = []  # of each criterion: how often each of them was drawn
        self._gained = np.zeros(0)  # by each criterion
        self._recent = np.zeros(0)
        self._known = 0  # entries

    def learn(self, lesson: Lesson) -> None:
        """Notes which criteria each entry was new to (seeds to all), and how much each criterion gained."""
        kept, gains = lesson.kept, lesson.gains
        if not gains.shape[1]:
            raise UsageError("--scheduler adaptive chooses among criteria and there is none: name some with --coverage")
        if not self._entries:
            self._entries = [Growing() for _ in range(gains.shape[1])]
            self._fuzzed = [Growing() for _ in range(gains.shape[1])]
            self._gained, self._recent = np.zeros(gains.shape[1]), np.zeros(gains.shape[1])
        for criterion, (entries, fuzzed) in enumerate(zip(self._entries, self._fuzzed, strict=True)):
            chosen = gains[:, criterion] > 0 if self._known else torch.ones(len(kept), dtype=torch.bool)
            new = chosen.nonzero().squeeze(1).double().numpy()
            entries.extend(new + self._known)
            fuzzed.extend(np.zeros(len(new)))
        gain = gains.nan_to_num(posinf=1.0).sum(0).double().numpy()  # the very first point is infinitely far
        self._gained += gain
        self._recent = MEMORY * self._recent + gain
        self._known += len(kept)

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        criteria = drawn(self._effort(), children, rng)
        ids = torch.empty(children, dtype=torch.int64)
        for criterion in criteria.unique().tolist():
            rows = (criteria == criterion).nonzero().squeeze(1)
            ids[rows] = self._parents(criterion, len(rows), rng)
        return ids

    def _effort(self) -> Numbers:
        """The share of the effort that each criterion gets."""
        growth = self._recent / np.maximum(self._gained, 1)
        share = growth / growth.sum() if growth.sum() > 0 else np.full(len(growth), 1 / len(growth))
        effort: Numbers = EXPLORED / len(growth) + (1 - EXPLORED) * share
        return effort

    def _parents(self, criterion: int, count: int, rng: torch.Generator) -> Tensor:
        fuzzed = self._fuzzed[criterion].values()
        places = drawn(self._priority.weights(fuzzed), count, rng).numpy()
        np.add.at(fuzzed, places, 1)
        return torch.from_numpy(self._entries[criterion].values()[places].astype(np.int64))


ADAPTIVE = Part(
    first_line(WhereGainsCome), lambda settings, _: WhereGainsCome(priority_of(settings)), (PriorityOptions,)
)
