"""Neurons whose sign alone turns another neuron of the next layer (sign-sign cover, MC/DC-like; Sun et al., 2018).

A pair of neurons of adjacent layers is covered by two rows in which the sign of the one differs while all other neurons
of its layer keep theirs, and the sign of the other differs too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.options.campaign import CountedOptions
from jostle.part import Part
from jostle.profile import Layers, layers_in, neurons_in
from jostle.records import Candidates, Trace

MOST_PAIRS = 2**31  # two gigabytes
Signs = np.ndarray[Any, np.dtype[np.bool_]]
Codes = np.ndarray[Any, np.dtype[np.uint64]]


class SignPairs:
    """New is a row that covers a pair of neurons together with a row that is remembered; the gain is how many.

    Remembered are the rows of the first batch, the seeds, and those that were new, or every row where data is only
    measured. Rows that are not finite are never new.
    """

    def __init__(self, every_row: bool = False):
        self._every_row = every_row
        self._layers: Layers = ()
        self._pairs: list[_AdjacentLayers] = []

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        if not self._layers:
            self._begin(layers_in(trace))
        values = neurons_in(trace.activations, self._layers, len(trace.outcome))
        gain = torch.zeros(len(values))
        rows = values.isfinite().all(1).nonzero().squeeze(1)
        if len(rows):
            signs = (values[rows] > 0).numpy()
            gain[rows] = torch.from_numpy(self._added(signs, self._every_row or self._pairs[0].empty)).float()
        return gain

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        covered = sum(int(pair.covered.sum()) for pair in self._pairs)
        total = sum(pair.covered.size for pair in self._pairs)
        return {"sscov": {"covered": covered / total, "pairs": total} if total else {}}

    def _begin(self, layers: Layers) -> None:
        if len(layers) < 2:
            raise UsageError("--coverage sscov needs two layers, one behind the other: name more with --layers")
        sizes = [size for _, size in layers]
        total = sum(one * other for one, other in pairwise(sizes))
        if total > MOST_PAIRS:
            raise UsageError(
                f"sscov would count {total:,} pairs of neurons: choose fewer --layers, or --units channels"
            )
        self._layers = layers
        self._pairs = [_AdjacentLayers(one, other) for one, other in pairwise(sizes)]

    def _added(self, signs: Signs, every_row: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How many pairs each row of signs [rows, neurons] covers first, rows one after another."""
        parts = np.split(signs, np.cumsum([size for _, size in self._layers])[:-1], axis=1)
        meetings = [pair.meetings(part) for pair, part in zip(self._pairs, parts[:-1], strict=True)]
        gain = np.zeros(len(signs), dtype=np.int64)
        remembered = np.full(len(signs), every_row)
        for row in sorted(set().union(*meetings)):  # only rows that meet another which differs in one neuron
            for pair, met, behind in zip(self._pairs, meetings, parts[1:], strict=True):
                gain[row] += pair.count(row, met.get(row, ()), behind, remembered)
            remembered[row] |= gain[row] > 0
        for pair, (part, behind) in zip(self._pairs, pairwise(parts), strict=True):
            pair.remember(part[remembered], behind[remembered])
        return gain


class _Meeting(NamedTuple):
    """What differs from a row in the sign of one neuron alone: a code that is remembered, or an earlier row."""

    neuron: int
    code: int = 0
    earlier: int | None = None


class _AdjacentLayers:
    """The pairs of neurons of two layers, and the signs that are remembered of them.

    Signs of the first layer go by a code, in which every neuron that is above zero has its own random bits: two rows
    differ in one neuron alone where their codes differ by just its bits.
    """

    def __init__(self, first: int, second: int):
        self.covered = np.zeros((first, second), dtype=bool)
        self._bits = np.random.default_rng(0).integers(1, 2**64, first, dtype=np.uint64)
        self._known = np.zeros(0, dtype=np.uint64)  # codes of the first layer, in order
        self._second: dict[int, Signs] = {}  # by code, [2, second] whether each neuron was not above zero, and above

    @property
    def empty(self) -> bool:
        """Whether nothing is remembered yet."""
        return not len(self._known)

    def meetings(self, signs: Signs) -> dict[int, list[_Meeting]]:
        """By row all that differs from it in one neuron of the first layer alone: what is remembered, earlier rows."""
        codes = self._codes(signs)
        order = np.argsort(codes, kind="stable")
        others = codes[:, None] ^ self._bits  # [rows, neurons] the code with this neuron the other way
        met: dict[int, list[_Meeting]] = defaultdict(list)
        for row, neuron in np.argwhere(_among(others, self._known)).tolist():
            met[row].append(_Meeting(neuron, code=int(others[row, neuron])))
        for row, neuron in np.argwhere(_among(others, codes[order])).tolist():
            start, end = (np.searchsorted(codes[order], others[row, neuron], side) for side in ("left", "right"))
            met[row] += [_Meeting(neuron, earlier=other) for other in order[start:end].tolist() if other < row]
        return met

    def count(self, row: int, met: Sequence[_Meeting], behind: Signs, remembered: Signs) -> int:
        """How many pairs a row covers first with what it met; of its own batch [rows], what is remembered counts."""
        before = self.covered.sum()
        for one in met:
            if one.earlier is None:
                self.covered[one.neuron] |= self._turned(one.code, behind[row])
            elif remembered[one.earlier]:
                self.covered[one.neuron] |= behind[row] != behind[one.earlier]
        return int(self.covered.sum() - before) if met else 0

    def _turned(self, code: int, behind: Signs) -> Signs:
        """Which neurons of the second layer had the other sign in a row of this code."""
        below, above = self._second[code]
        return np.where(behind, below, above)

    def remember(self, signs: Signs, behind: Signs) -> None:
        codes = self._codes(signs)
        for code, seconds in zip(codes.tolist(), behind, strict=True):
            seen = self._second.setdefault(code, np.zeros((2, len(seconds)), dtype=bool))
            seen[0] |= ~seconds
            seen[1] |= seconds
        self._known = np.union1d(self._known, codes)

    def _codes(self, signs: Signs) -> Codes:
        codes: Codes = np.bitwise_xor.reduce(np.where(signs, self._bits, np.uint64(0)), axis=1)
        return codes


def _among(values: Codes, known: Codes) -> Signs:
    """Which values are among those known, which are in order."""
    if not len(known):
        return np.zeros(values.shape, dtype=bool)
    place = np.searchsorted(known, values).clip(max=len(known) - 1)
    found: Signs = known[place] == values
    return found


SSCOV = Part(
    "Pairs of neurons of adjacent layers where the sign of one alone turns that of the other (sign-sign cover, MC/DC).",
    lambda settings, context: SignPairs(every_row=context.measures_only),
    (CountedOptions,),
    neurons=True,
)
