"""A target whose crashes are outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from jostle.foreign import attempt
from jostle.interfaces import Differentiable, Target
from jostle.records import Candidates, Crash, Linearised, Outcome, Trace, all_rows


class Contained:
    """A target whose crashes are outcomes: a batch that raises is halved until the guilty rows stand alone."""

    def __init__(self, target: Target):
        self._target = target
        self._blank: Trace | None = None  # one row of NaN in the shape of a trace

    def predict(self, inputs: Tensor) -> Tensor:
        return self._target.predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        trace = attempt(lambda: self._target.run(batch, watched))
        if isinstance(trace, Crash):
            return self._halved(batch, trace, watched)
        if self._blank is None and watched:
            self._blank = _blank_row(trace)
        return trace

    def _halved(self, batch: Candidates, crash: Crash, watched: bool) -> Trace:
        if len(batch) > 1:
            rows = all_rows(len(batch))
            return Trace.joined([self.run(batch.select(half), watched) for half in rows.tensor_split(2)])
        if self._blank is None:
            return Trace(torch.tensor([Outcome.CRASHED]), {}, crashes={0: crash})
        return replace(self._blank, crashes={0: crash})


class ContainedGradients:
    """A differentiable target whose crashes are NaN: a batch that raises is halved until the guilty rows stand alone.

    An input whose gradient is not finite is not gone on from, and what it does to the model, the model's run tells.
    """

    def __init__(self, target: Differentiable, sample: Tensor):
        """The sample [batch, ...] shows what the target gives; what it raises there, this raises."""
        self._target = target
        passed = target.linearise(sample, extremes=True)
        self._shapes = {
            name: {key: value.shape[1:] for key, value in getattr(passed, name).items()}
            for name in ("scores", "activations", "extremes")
        }

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        passed = attempt(lambda: self._target.linearise(inputs, extremes))
        if not isinstance(passed, Crash):
            return replace(passed, pull=partial(_pulled_or_nan, passed, inputs))
        if len(inputs) > 1:
            return Linearised.joined([self.linearise(half, extremes) for half in inputs.tensor_split(2)])
        blank = {
            name: {key: torch.full((1, *shape), torch.nan) for key, shape in shapes.items()}
            for name, shapes in self._shapes.items()
        }
        return Linearised(**blank, pull=lambda scores, activations: torch.full_like(inputs.float(), torch.nan))


def _pulled_or_nan(
    passed: Linearised, inputs: Tensor, scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]
) -> Tensor:
    gradient = attempt(lambda: passed.pull(scores, activations))
    return torch.full_like(inputs.float(), torch.nan) if isinstance(gradient, Crash) else gradient


def _blank_row(trace: Trace) -> Trace:
    """A crashed row in the shape of this trace."""

    def blank(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: torch.full((1, *value.shape[1:]), torch.nan) for name, value in values.items()}

    return Trace(
        outcome=torch.tensor([Outcome.CRASHED]),
        outputs=blank(trace.outputs),
        activations=blank(trace.activations),
        extremes=blank(trace.extremes),
        metadata=blank(trace.metadata),
    )
