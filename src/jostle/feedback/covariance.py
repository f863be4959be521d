"""How far the neurons of each layer spread together: layer-wise covariance (NLC; Yuan, Pang, Wang, ICSE 2023)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.options.campaign import CountedOptions
from jostle.part import Part, first_line
from jostle.profile import Layers, layers_in, neurons_in
from jostle.records import Candidates, Trace

LARGEST = 1e15  # of an activation: squares of larger ones leave float32
ROUNDING = 1e-6  # of a layer's spread: what grows by less may be rounding
MOST_ENTRIES = 2**28  # of all covariances: two gigabytes
BEGINNING = 1.0  # the gain of the first row, of which nothing can spread


class LayerCovariance:
    """Layers whose neurons spread more, together, than in all rows that counted before (NLC).

    The spread of a layer is the mean of the absolute covariances of its neurons. A row counts in the layers whose
    spread it raises, and in no others; its gain is by how much. A row that was new is never new again, although it
    would raise the spread once more; rows that are not finite are never new.
    """

    def __init__(self) -> None:
        self._layers: Layers = ()
        self._spreads: list[_Spread] = []
        self._known: set[int] = set()  # digests of the rows that were new

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        if not self._layers:
            self._begin(layers_in(trace))
        values = neurons_in(trace.activations, self._layers, len(trace.outcome))
        gain = torch.zeros(len(values))
        rows = values.isfinite().all(1).nonzero().squeeze(1)
        points = values[rows].clamp(-LARGEST, LARGEST)
        if len(rows):
            gain[rows] = torch.from_numpy(self._added(points)).float()
        return gain

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        """The paper's figure, which has no upper end, and how many rows it is of."""
        spread = sum(one.spread for one in self._spreads)
        return {"nlc": {"spread": spread, "rows": len(self._known), "layers": len(self._layers)}}

    def _begin(self, layers: Layers) -> None:
        if not layers:
            raise UsageError("neuron criteria need layers to watch, and this model shows none: use --coverage nearest")
        entries = sum(size**2 for _, size in layers)
        if entries > MOST_ENTRIES:
            raise UsageError(
                f"nlc would keep {entries:,} covariances, which need {8 * entries / 1e9:,.0f} GB: choose fewer "
                f"--layers, or --units channels"
            )
        self._layers = layers
        self._spreads = [_Spread(size) for _, size in layers]

    def _added(self, points: Tensor) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """By how much each point [rows, neurons] raises the spread of all layers, rows one after another."""
        digests = _digests(points)
        parts = [part.double().numpy() for part in points.split([size for _, size in self._layers], 1)]
        gain = np.zeros(len(points))
        row = 0
        while (row := self._next(parts, row)) < len(points):  # only rows that may count
            gained = 0.0 if int(digests[row]) in self._known else self._counted(parts, row)
            if gained:
                gain[row] = gained
                self._known.add(int(digests[row]))
            row += 1
        return gain

    def _next(self, parts: list[np.ndarray], start: int) -> int:  # type: ignore[type-arg]
        """The first row from there on that can raise the spread of a layer."""
        hopeful = [spread.hopeful(part[start:]) for spread, part in zip(self._spreads, parts, strict=True)]
        found = np.flatnonzero(np.logical_or.reduce(hopeful))
        return start + int(found[0]) if len(found) else len(parts[0])

    def _counted(self, parts: list[np.ndarray], row: int) -> float:  # type: ignore[type-arg]
        """What one row raises the spreads by, counted where it does."""
        if not self._known:
            for spread, part in zip(self._spreads, parts, strict=True):
                spread.begin(part[row])
            return BEGINNING
        return sum(spread.count(part[row]) for spread, part in zip(self._spreads, parts, strict=True))


class _Spread:
    """Mean and covariance of the neurons of one layer, over the rows that raised it."""

    def __init__(self, neurons: int):
        self._mean = np.zeros(neurons)
        self._covariance = np.zeros((neurons, neurons))
        self._rows = 0
        self.spread = 0.0

    def begin(self, point: np.ndarray) -> None:  # type: ignore[type-arg]
        self._mean, self._rows = point.copy(), 1

    def hopeful(self, points: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        """Which points [rows, neurons] may raise the spread: no covariance of a sum exceeds the sum of both."""
        if not self._rows:
            return np.ones(len(points), dtype=bool)
        away = np.abs(points - self._mean).mean(1) ** 2
        found: np.ndarray = away * (self._rows / (self._rows + 1)) > self.spread  # type: ignore[type-arg]
        return found

    def count(self, point: np.ndarray) -> float:  # type: ignore[type-arg]
        """By how much a point [neurons] raises the spread; where it does not, nothing is changed."""
        share = 1 / (self._rows + 1)
        away = point - self._mean
        covariance = (1 - share) * (self._covariance + share * np.outer(away, away))
        raised = float(np.abs(covariance).mean()) - self.spread
        if raised <= ROUNDING * self.spread:
            return 0.0
        self._mean = self._mean + share * away
        self._covariance, self._rows, self.spread = covariance, self._rows + 1, self.spread + raised
        return raised


def _digests(points: Tensor) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A number for each point [rows, neurons], the same for those that differ by rounding."""
    rounded = points.to(torch.bfloat16).view(torch.int16).to(torch.int64)
    factors = torch.randint(-(2**62), 2**62, (points.shape[1],), generator=torch.Generator().manual_seed(0)) | 1
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = (rounded * factors).sum(1).numpy()
    return found


NLC = Part(first_line(LayerCovariance), lambda settings, _: LayerCovariance(), (CountedOptions,), neurons=True)
