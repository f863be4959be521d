"""What a model's last layers did on data it knows: what surprise is measured against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.records import MODEL, Trace

MOST_ROWS = 10_000
MOST_VALUES = 2**24  # 64 megabytes


@dataclass(frozen=True)
class KnownTraces:
    """Activations of some layers for rows of known data, all finite, and the class that the model saw in each."""

    layers: tuple[str, ...]
    points: Tensor  # [rows, neurons]
    predicted: Tensor  # [rows]


class TraceSample:
    """Rows of all traces that stream by, evenly spread over them and never more than fit."""

    def __init__(self, layers: Sequence[str]):
        self._layers = tuple(layers)
        self._every, self._passed = 1, 0  # one row in so many is taken; rows that streamed by
        self._points: list[Tensor] = []
        self._predicted: list[Tensor] = []

    def add(self, trace: Trace) -> None:
        points = points_in(trace, self._layers)
        if points is None:
            return
        rows = torch.arange(len(points))
        chosen = rows[(self._passed + rows) % self._every == 0]
        self._passed += len(points)
        self._points.append(points[chosen])
        self._predicted.append(predicted_in(trace)[chosen])
        while self._too_many:
            self._points = [torch.cat(self._points)[::2]]
            self._predicted = [torch.cat(self._predicted)[::2]]
            self._every *= 2

    @property
    def _too_many(self) -> bool:
        rows = sum(map(len, self._points))
        return rows > 1 and (rows > MOST_ROWS or rows * self._points[-1].shape[1] > MOST_VALUES)

    def taken(self) -> KnownTraces | None:
        """The rows that are finite; None if there are none, or the layers did not run."""
        if not self._points:
            return None
        points, predicted = torch.cat(self._points), torch.cat(self._predicted)
        finite = points.isfinite().all(1)
        return KnownTraces(self._layers, points[finite], predicted[finite]) if finite.any() else None


def points_in(trace: Trace, layers: Sequence[str]) -> Tensor | None:
    """The activations of these layers side by side [batch, neurons]; None if one of them is not there."""
    if not layers or any(name not in trace.activations for name in layers):
        return None
    return torch.cat([trace.activations[name].float() for name in layers], 1)


def predicted_in(trace: Trace) -> Tensor:
    """The class with the highest score [batch]; 0 for all where the model gives no scores [batch, classes]."""
    outputs = trace.outputs[MODEL]
    if outputs.ndim == 2 and outputs.shape[1] > 1:
        return outputs.argmax(1)
    return torch.zeros(len(outputs), dtype=torch.int64)


def by_class(predicted: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Every class that was predicted, with its rows."""
    for one in predicted.unique().tolist():
        yield one, (predicted == one).nonzero().squeeze(1)
