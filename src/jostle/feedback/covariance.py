"""How far the neurons of each layer spread together: layer-wise covariance (NLC; Yuan, Pang, Wang, ICSE 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.options.campaign import CountedLayerOptions
from jostle.part import Part, first_line
from jostle.profile import Layers, layers_in, neurons_in
from jostle.records import Candidates, Trace

LARGEST = 1e15  # of an activation: squares of larger ones leave float32
ROUNDING = 1e-6  # of a layer's spread: what grows by less may be rounding
MOST_ENTRIES = 2**28  # of all covariances: two gigabytes
BEGINNING = 1.0  # the gain of the first row, of which nothing can spread
Reals = np.ndarray[Any, np.dtype[np.float64]]
Wholes = np.ndarray[Any, np.dtype[np.int64]]
Claims = np.ndarray[Any, np.dtype[np.bool_]]


class LayerCovariance:
    """Layers whose neurons spread more, together, than in all rows that counted before (NLC).

    The spread of a layer is the mean of the absolute covariances of its neurons. A row counts in the layers whose
    spread it raises, and in no others; its gain is by how much. A row that was new is never new again, although it
    would raise the spread once more; rows that are not finite are never new.
    """

    looks_at_inputs = False

    def __init__(self) -> None:
        self._layers: Layers = ()
        self._spreads: list[_Spread] = []
        self._known: set[int] = set()  # digests of the rows that were new

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        if not self._layers:
            self._begin(layers_in(trace))
        values = neurons_in(trace.activations, self._layers, len(trace.outcome))
        gain = torch.zeros(len(values), dtype=torch.float32)
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

    def _added(self, points: Tensor) -> Reals:
        """By how much each point [rows, neurons] raises the spread of all layers, rows one after another."""
        digests = _digests(points).tolist()
        parts = [part.double().numpy() for part in points.split([size for _, size in self._layers], 1)]
        gain = np.zeros(len(points))
        both = list(zip(self._spreads, parts, strict=True))
        hopeful = np.stack([spread.hopeful(part) for spread, part in both])  # [layers, rows]
        row = _first(hopeful, 0)
        while row < len(points):  # only rows that may raise the spread of a layer
            raised = {} if digests[row] in self._known else self._counted(parts, row, hopeful[:, row])
            if raised:
                gain[row] = sum(raised.values()) if self._known else BEGINNING
                self._known.add(digests[row])
            for layer in raised:
                spread, part = both[layer]
                hopeful[layer, row + 1 :] = spread.hopeful(part[row + 1 :])
            row = _first(hopeful, row + 1)
        return gain

    def _counted(self, parts: Sequence[Reals], row: int, hopeful: Claims) -> dict[int, float]:
        """By layer what one row raises its spread by, of those [layers] that it may raise; it counts where it does."""
        raised = {layer: self._spreads[layer].count(parts[layer][row]) for layer in np.flatnonzero(hopeful).tolist()}
        return {layer: by for layer, by in raised.items() if by is not None}


def _first(hopeful: Claims, start: int) -> int:
    """The first row from there on that may raise a spread; as many as there are rows if none may."""
    found = np.flatnonzero(hopeful[:, start:].any(0))
    return start + int(found[0]) if len(found) else hopeful.shape[1]


class _Spread:
    """Mean and covariance of the neurons of one layer, over the rows that raised it."""

    def __init__(self, neurons: int):
        self._mean = np.zeros(neurons)
        self._covariance = np.zeros((neurons, neurons))
        self._rows = 0
        self.spread = 0.0

    def hopeful(self, points: Reals) -> Claims:
        """Which points [rows, neurons] may raise the spread: no covariance of a sum exceeds the sum of both."""
        if not self._rows:
            return np.ones(len(points), dtype=bool)
        away = np.abs(points - self._mean).mean(1) ** 2
        found: Claims = away * (self._rows / (self._rows + 1)) > self.spread
        return found

    def count(self, point: Reals) -> float | None:
        """By how much a point [neurons] raises the spread; None where it does not, and nothing is changed."""
        share = 1 / (self._rows + 1)
        away = point - self._mean
        covariance = np.outer(share * away, away)
        covariance += self._covariance
        covariance *= 1 - share
        raised = float(np.abs(covariance).mean()) - self.spread
        if self._rows and raised <= ROUNDING * self.spread:
            return None
        self._mean = self._mean + share * away
        self._covariance, self._rows, self.spread = covariance, self._rows + 1, self.spread + raised
        return raised


def _digests(points: Tensor) -> Wholes:
    """A number for each point [rows, neurons], the same for those that differ by rounding."""
    rounded = points.to(torch.bfloat16).view(torch.int16).to(torch.int64)
    factors = torch.randint(-(2**62), 2**62, (points.shape[1],), generator=torch.Generator().manual_seed(0)) | 1
    found: Wholes = (rounded * factors).sum(1).numpy()
    return found


NLC = Part(first_line(LayerCovariance), lambda settings, _: LayerCovariance(), (CountedLayerOptions,), neurons=True)
