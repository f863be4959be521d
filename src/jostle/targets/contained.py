"""The one place where foreign code runs and whatever it raises is caught and turned into a value."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from jostle.interfaces import Target
from jostle.records import Candidates, Crash, Outcome, Trace, all_rows

Result = TypeVar("Result")


def attempt(foreign: Callable[[], Result]) -> Result | Crash:
    """What foreign code returns, or how it failed."""
    try:
        return foreign()
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        message = (str(error).strip().splitlines() or [""])[0]
        return Crash(
            error=type(error).__name__,
            message=message,
            where=f"{Path(frame.filename).name}:{frame.name}",
            traceback="".join(traceback.format_exception(error)),
        )


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
        metadata=blank(trace.metadata),
    )
