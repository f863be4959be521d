"""A target whose crashes are outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from jostle.foreign import attempt
from jostle.interfaces import Target
from jostle.records import Candidates, Crash, Outcome, Trace, all_rows


class Contained:
    """A target whose crashes are outcomes: a batch that raises is halved until the guilty rows stand alone."""

    def __init__(self, target: Target):
        self._target = target
        self._blank: Trace | None = None  # one row of NaN in the shape of a trace

    def predict(self, inputs: Tensor) -> Tensor:
        return self._target.predict(inputs)

    def run(self, batch: Candidates) -> Trace:
        trace = attempt(lambda: self._target.run(batch))
        if isinstance(trace, Crash):
            return self._halved(batch, trace)
        if self._blank is None:
            self._blank = _blank_row(trace)
        return trace

    def _halved(self, batch: Candidates, crash: Crash) -> Trace:
        if len(batch) > 1:
            rows = all_rows(len(batch))
            return Trace.joined([self.run(batch.select(half)) for half in rows.tensor_split(2)])
        if self._blank is None:
            return Trace(torch.tensor([Outcome.CRASHED]), {}, crashes={0: crash})
        return replace(self._blank, crashes={0: crash})


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
