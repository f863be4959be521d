"""Neurons whose sign alone turns another neuron of the next layer (sign-sign cover, MC/DC-like; Sun et al., 2018).

A pair of neurons of adjacent layers is covered by two rows in which the sign of the one differs while all other neurons
of its layer keep theirs, and the sign of the other differs too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.options.campaign import CountedLayerOptions
from jostle.part import Part
from jostle.profile import Layers, layers_in, neurons_in
from jostle.records import Candidates, Trace

MOST_PAIRS = 2**34  # two gigabytes
ONES = np.array([number.bit_count() for number in range(256)])  # bits of a byte that are set
GROWTH = 64  # places at first
PAIRING = np.uint64(0x9E3779B97F4A7C15)  # sets the code of the first layer apart from that of the second
Signs = np.ndarray[Any, np.dtype[np.bool_]]
Codes = np.ndarray[Any, np.dtype[np.uint64]]
Bits = np.ndarray[Any, np.dtype[np.uint8]]


class SignPairs:
    """New is a row that covers a pair of neurons together with a row that is remembered; the gain is how many.

    Remembered are the rows of the first batch, the seeds, and those that were new, or every row where data is only
    measured. Rows that are not finite are never new.
    """

    looks_at_inputs = False

    def __init__(self, every_row: bool = False):
        self._every_row = every_row
        self._layers: Layers = ()
        self._pairs: list[_AdjacentLayers] = []

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        if not self._layers:
            self._begin(layers_in(trace))
        values = neurons_in(trace.activations, self._layers, len(trace.outcome))
        gain = torch.zeros(len(values), dtype=torch.float32)
        rows = values.isfinite().all(1).nonzero().squeeze(1)
        if len(rows):
            signs = (values[rows] > 0).numpy()
            gain[rows] = torch.from_numpy(self._added(signs, self._every_row or self._pairs[0].empty)).float()
        return gain

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        covered = sum(pair.count_covered for pair in self._pairs)
        total = sum(pair.total for pair in self._pairs)
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
        gain = np.zeros(len(signs), dtype=np.int64)
        batches = [pair.batch(*both) for pair, both in zip(self._pairs, pairwise(parts), strict=True)]
        everywhere = np.logical_or.reduce([batch.may_cover for batch in batches])
        for row in np.flatnonzero(everywhere | every_row).tolist():  # others meet nothing that differs in one neuron
            for pair, batch in zip(self._pairs, batches, strict=True):
                gain[row] += pair.count(batch, row)
            if every_row or gain[row]:
                for pair, batch in zip(self._pairs, batches, strict=True):
                    pair.remember(batch, row)
        for pair in self._pairs:
            pair.sort()
        return gain


@dataclass(frozen=True)
class _Batch:
    """The rows of a batch in two adjacent layers."""

    codes: list[int]  # of the signs of the first layer, by row
    met: Signs  # [rows, first] whether there may be a row that differs in this neuron alone
    others: Codes  # [rows, first] the code of such a row
    second: Bits  # [rows, second / 8] signs of the second layer
    pairs: list[int]  # codes of the signs of both layers, by row
    may_cover: Signs  # [rows] whether it meets another, and was not remembered before


class _AdjacentLayers:
    """The pairs of neurons of two layers, and the signs that are remembered of them.

    Signs of a layer go by a code, in which every neuron that is above zero has its own random bits: two rows differ in
    one neuron alone where their codes differ by just its bits. Signs of the second layer are kept as bits, by code of
    the first whether each neuron was ever not above zero, and ever above.
    """

    def __init__(self, first: int, second: int):
        self.total = first * second
        self.count_covered = 0
        self._covered = np.zeros((first, -(-second // 8)), dtype=np.uint8)
        rng = np.random.default_rng(0)
        self._bits = [rng.integers(1, 2**64, neurons, dtype=np.uint64) for neurons in (first, second)]
        self._places: dict[int, int] = {}  # by code of the first layer, in the two that follow
        self._below, self._above = (np.zeros((GROWTH, self._covered.shape[1]), dtype=np.uint8) for _ in range(2))
        self._sorted = np.zeros(0, dtype=np.uint64)  # those codes, in order
        self._pairs: set[int] = set()  # codes of both layers together, of rows that are remembered

    @property
    def empty(self) -> bool:
        """Whether nothing is remembered yet."""
        return not self._places

    def batch(self, first: Signs, second: Signs) -> _Batch:
        codes, behind = _codes(first, self._bits[0]), _codes(second, self._bits[1])
        others = codes[:, None] ^ self._bits[0]
        met = _among(others, self._sorted) | _among(others, np.unique(codes))
        pairs = (codes * PAIRING ^ behind).tolist()
        known = np.array([pair in self._pairs for pair in pairs])
        return _Batch(codes.tolist(), met, others, np.packbits(second, axis=1), pairs, met.any(1) & ~known)

    def count(self, batch: _Batch, row: int) -> int:
        """How many pairs a row covers first, together with all that is remembered."""
        if not batch.may_cover[row]:
            return 0
        neurons = np.flatnonzero(batch.met[row]).tolist()
        places = [self._places.get(code, -1) for code in batch.others[row, neurons].tolist()]
        neurons, places = _known(neurons, places)
        if not places:
            return 0
        signs = batch.second[row]
        turned = (signs & self._below[places]) | (~signs & self._above[places])
        fresh = turned & ~self._covered[neurons]
        self._covered[neurons] |= fresh
        new = int(ONES[fresh].sum())
        self.count_covered += new
        return new

    def remember(self, batch: _Batch, row: int) -> None:
        if batch.pairs[row] in self._pairs:
            return
        self._pairs.add(batch.pairs[row])
        place = self._places.setdefault(batch.codes[row], len(self._places))
        if place == len(self._below):
            self._below, self._above = (np.concatenate([one, np.zeros_like(one)]) for one in (self._below, self._above))
        self._below[place] |= ~batch.second[row]
        self._above[place] |= batch.second[row]

    def sort(self) -> None:
        """Brings the codes that are known in order, after a batch."""
        if len(self._sorted) < len(self._places):
            new = list(islice(self._places, len(self._sorted), None))
            self._sorted = np.sort(np.concatenate([self._sorted, np.array(new, dtype=np.uint64)]))


def _known(neurons: list[int], places: list[int]) -> tuple[list[int], list[int]]:
    """Those of which a place is known."""
    found = [(neuron, place) for neuron, place in zip(neurons, places, strict=True) if place >= 0]
    return [neuron for neuron, _ in found], [place for _, place in found]


def _codes(signs: Signs, bits: Codes) -> Codes:
    codes: Codes = np.bitwise_xor.reduce(np.where(signs, bits, np.uint64(0)), axis=1)
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
    (CountedLayerOptions,),
    neurons=True,
)
