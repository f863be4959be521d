"""Running any number of rows on a target that is given only so many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.interfaces import Differentiable, DifferentiableTarget, InterruptibleTarget
from jostle.records import Candidates, Linearised, Trace, all_rows


class InBatches:
    """A target that runs at most so many rows at once: those whose activations a processor's caches hold."""

    def __init__(self, target: InterruptibleTarget, size: int):
        self._target = target
        self._size = size

    def ask_between_rows(self, enough: Callable[[], bool]) -> None:
        self._target.ask_between_rows(enough)

    def predict(self, inputs: Tensor) -> Tensor:
        return self._target.predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        if len(batch) <= self._size:
            return self._target.run(batch, watched)
        return Trace.joined([self._target.run(some, watched) for some in batch.split(self._size)])


class GradientsInBatches:
    """The same of passes that are differentiated."""

    def __init__(self, target: Differentiable, size: int):
        self._target = target
        self._size = size

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        if len(inputs) <= self._size:
            return self._target.linearise(inputs, extremes)
        return Linearised.joined([self._target.linearise(some, extremes) for some in inputs.split(self._size)])


class InChunks:
    """A target that accepts just one batch size, such as an exported program, given any number of rows."""

    def __init__(self, target: DifferentiableTarget, size: int):
        self._target = target
        self._size = size

    def predict(self, inputs: Tensor) -> Tensor:
        outputs = [
            self._target.predict(inputs[self._padded(rows)])[: len(rows)]
            for rows in all_rows(len(inputs)).split(self._size)
        ]
        return torch.cat(outputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        return Trace.joined(
            [
                self._target.run(batch.select(self._padded(rows)), watched).select(all_rows(len(rows)))
                for rows in all_rows(len(batch)).split(self._size)
            ]
        )

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        return Linearised.joined(
            [self._linearised(inputs, rows, extremes) for rows in all_rows(len(inputs)).split(self._size)]
        )

    def _linearised(self, inputs: Tensor, rows: Tensor, extremes: bool) -> Linearised:
        """One chunk without its padding, which weighs nothing."""
        whole, count = self._target.linearise(inputs[self._padded(rows)], extremes), len(rows)

        def cut(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {name: value[:count] for name, value in values.items()}

        def filled(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {
                name: torch.cat([weight, weight.new_zeros(self._size - count, *weight.shape[1:])])
                for name, weight in weights.items()
            }

        def pull(scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
            return whole.pull(filled(scores), filled(activations))[:count]

        trace = None if whole.trace is None else whole.trace.select(all_rows(count))
        seen = cut(whole.scores), cut(whole.activations), cut(whole.extremes)
        return Linearised(*seen, pull, cut(whole.entered), trace)

    def _padded(self, rows: Tensor) -> Tensor:
        """The rows, the last one repeated until the chunk is full."""
        return rows[torch.arange(self._size).clamp(max=len(rows) - 1)]
