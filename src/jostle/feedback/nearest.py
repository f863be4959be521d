"""TensorFuzz's novelty: activations far from all that were seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.neighbours import Neighbours
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import choice, number
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import MODEL, Candidates, Trace

# Squares of larger values leave float32; clipped, they still lie far from everything ordinary.
LARGEST = 1e15
CALIBRATION_SHARE = 0.1  # of the typical distance between two seeds
AT_ONCE = 1024  # rows compared with each other, which takes a square of memory

# The chosen layers' activations [batch, neurons] each -> one point per row [batch, dimensions]
Embedding = Callable[[Sequence[Tensor]], Tensor]


def as_they_are(activations: Sequence[Tensor]) -> Tensor:
    """Activations far from all that were seen before, by their nearest neighbour (TensorFuzz)."""
    return torch.cat([layer.float() for layer in activations], 1) if len(activations) > 1 else activations[0].float()


def magnitudes(activations: Sequence[Tensor]) -> Tensor:
    """The same on how large each layer's activations are together, which drives them to extremes and NaN."""
    return torch.stack([layer.float().abs().sum(1) for layer in activations], 1)


EMBEDDINGS: Mapping[str, Embedding] = {"nearest": as_they_are, "magnitude": magnitudes}

DISTANCES = ("euclidean", "cosine")


@dataclass(frozen=True)
class NearestOptions:
    """When activations lie far from all seen before."""

    distance: str = option(
        choice(lambda: DISTANCES), "Of activations: euclidean or cosine", Theme.GUIDES, default="euclidean"
    )
    threshold: float | None = option(
        number("give a distance above 0, or leave it out to calibrate", above=0),
        "Distance above which activations are new; calibrated on the seeds if left out",
        Theme.GUIDES,
    )


class FarFromSeen:
    """New is a row whose activations lie farther than a threshold from the nearest seen before.

    Without a threshold, a tenth of the median distance between two rows of the first batch (the seeds) serves.
    Rows that are not finite are never new.
    """

    looks_at_inputs = False

    def __init__(
        self,
        layers: Sequence[str],
        threshold: float | None = None,
        cosine: bool = False,
        criterion: str = "nearest",
    ):
        check(NearestOptions, threshold=threshold)
        self._layers = layers
        self._threshold = threshold
        self._cosine = cosine
        self._criterion = criterion
        self._embedding = EMBEDDINGS[criterion]
        self._seen = Neighbours()

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        points, finite = self._points(trace)
        gain = torch.zeros(len(points), dtype=torch.float32)
        rows = finite.nonzero().squeeze(1)
        if len(rows):
            threshold = self._calibrated(points[rows])
            gain[rows] = torch.cat([self._novelty(some, threshold) for some in points[rows].split(AT_ONCE)])
        return gain

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        threshold = {} if self._threshold is None else {"threshold": self._threshold}
        return {self._criterion: {"points": len(self._seen), **threshold}}

    def _points(self, trace: Trace) -> tuple[Tensor, Tensor]:
        """One point per row [batch, dimensions], and which of them are finite [batch]."""
        layers = [trace.activations[name] for name in self._layers] or [trace.outputs[MODEL].unsqueeze(-1).flatten(1)]
        points = self._embedding(layers)
        finite = points.isfinite().all(1)
        points = points.clamp(-LARGEST, LARGEST)
        return (torch.nn.functional.normalize(points, dim=1) if self._cosine else points), finite

    def _calibrated(self, points: Tensor) -> float:
        if self._threshold is None:
            self._threshold = CALIBRATION_SHARE * self._typical_distance(points)
        # On the unit sphere, cosine distance is half the squared Euclidean one.
        return float(2 * self._threshold) ** 0.5 if self._cosine else self._threshold

    def _typical_distance(self, points: Tensor) -> float:
        """Median distance between two different points, over some spread evenly."""
        between = torch.pdist(points[:: -(-len(points) // AT_ONCE)])
        between = between[between > 0]
        if not len(between):
            raise UsageError("the novelty threshold needs seeds that differ: add seeds or give --threshold 1.0")
        distance = float(between.median())
        return distance**2 / 2 if self._cosine else distance

    def _novelty(self, points: Tensor, threshold: float) -> Tensor:
        """Gain [rows]: the distance where it exceeds the threshold, rows admitted one after another."""
        distances = self._seen.distances(points, enough=threshold)
        far = (distances > threshold).nonzero().squeeze(1)
        gain = torch.zeros(len(points), dtype=torch.float32)
        if len(far):
            admitted, spacing = _admitted_in_order(points[far], threshold)
            gain[far[admitted]] = torch.minimum(distances[far[admitted]], spacing)
            self._seen.add(points[far[admitted]])
        return gain


def _admitted_in_order(points: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """The rows that are far from every row admitted before them, and how far from the nearest such row."""
    between = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    earlier = between.masked_fill_(torch.ones_like(between, dtype=torch.bool).triu(), torch.inf)
    close = (earlier <= threshold).numpy()
    admitted = np.logical_not(close.any(axis=1))
    for row in np.flatnonzero(~admitted):  # few: only rows that an earlier row is close to
        admitted[row] = not (close[row] & admitted).any()
    rows = torch.from_numpy(np.flatnonzero(admitted))
    return rows, earlier[rows][:, rows].min(1).values


def _part(criterion: str) -> Part[FarFromSeen]:
    def make(settings: Settings, context: PartContext) -> FarFromSeen:
        options = settings[NearestOptions]
        return FarFromSeen(context.novelty_layers, options.threshold, options.distance == "cosine", criterion)

    return Part(first_line(EMBEDDINGS[criterion]), make, (NearestOptions,))


NEAREST, MAGNITUDE = _part("nearest"), _part("magnitude")
