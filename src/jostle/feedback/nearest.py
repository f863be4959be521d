"""TensorFuzz's novelty: activations far from all that were seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.neighbours import Neighbours
from jostle.records import MODEL, Trace

# Squares of larger values leave float32; clipped, they still lie far from everything ordinary.
LARGEST = 1e15
CALIBRATION_SHARE = 0.25
AT_ONCE = 1024  # rows compared with each other, which takes a square of memory


class FarFromSeen:
    """New is a row whose activations lie farther than a threshold from the nearest seen before.

    Without a threshold, a quarter of the median distance between the first batch's rows (the seeds) and their
    nearest neighbours serves. Rows that are not finite are never new.
    """

    def __init__(self, layers: Sequence[str], threshold: float | None = None, cosine: bool = False):
        if threshold is not None and not threshold > 0:
            raise UsageError(f"--threshold {threshold}: give a distance above 0, or leave it out to calibrate")
        self._layers = layers
        self._threshold = threshold
        self._cosine = cosine
        self._seen = Neighbours()
        self._assessed = 0

    def assess(self, trace: Trace) -> Tensor:
        points, finite = self._points(trace)
        gain = torch.zeros(len(points))
        rows = finite.nonzero().squeeze(1)
        self._assessed += len(points)
        if len(rows):
            threshold = self._calibrated(points[rows])
            gain[rows] = torch.cat([self._novelty(some, threshold) for some in points[rows].split(AT_ONCE)])
        return gain

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        points = len(self._seen)
        figures = {"points": points, "admission rate": points / max(self._assessed, 1)}
        if self._threshold is not None:
            figures["threshold"] = self._threshold
        return {"nearest": figures}

    def _points(self, trace: Trace) -> tuple[Tensor, Tensor]:
        """The chosen activations side by side [batch, neurons], and which rows are finite [batch]."""
        values = [trace.activations[layer] for layer in self._layers] or [trace.outputs[MODEL].flatten(1)]
        points = torch.cat(values, 1).float() if len(values) > 1 else values[0].float()
        finite = points.isfinite().all(1)
        points = points.clamp(-LARGEST, LARGEST)
        return (torch.nn.functional.normalize(points, dim=1) if self._cosine else points), finite

    def _calibrated(self, points: Tensor) -> float:
        if self._threshold is None:
            self._threshold = CALIBRATION_SHARE * self._typical_distance(points)
        # On the unit sphere, cosine distance is half the squared Euclidean one.
        return float(2 * self._threshold) ** 0.5 if self._cosine else self._threshold

    def _typical_distance(self, points: Tensor) -> float:
        """Median over the points of the distance to the nearest different one."""
        some = points[:: -(-len(points) // AT_ONCE)]
        between = torch.cdist(some, some)
        between[between == 0] = torch.inf
        nearest = between.min(1).values
        nearest = nearest[nearest.isfinite()]
        if not len(nearest):
            raise UsageError(
                "the novelty threshold cannot be calibrated on one seed: add seeds or give --threshold 1.0"
            )
        distance = float(nearest.median())
        return distance**2 / 2 if self._cosine else distance

    def _novelty(self, points: Tensor, threshold: float) -> Tensor:
        """Gain [rows]: the distance where it exceeds the threshold, rows admitted one after another."""
        distances = self._seen.distances(points, enough=threshold)
        far = (distances > threshold).nonzero().squeeze(1)
        gain = torch.zeros(len(points))
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
    admitted = ~close.any(1)
    for row in (~admitted).nonzero()[0]:  # few: only rows that an earlier row is close to
        admitted[row] = not (close[row] & admitted).any()
    rows = torch.from_numpy(admitted.nonzero()[0])
    return rows, earlier[rows][:, rows].min(1).values
