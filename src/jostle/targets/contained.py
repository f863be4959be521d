"""A target whose crashes are outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from jostle.foreign import Crash, attempt
from jostle.interfaces import ComparesLayers, Differentiable, ModelTarget
from jostle.records import Candidates, LayerGaps, Linearised, Outcome, Trace, all_rows

MOST_DEATHS = 4  # of one batch; what then has not run is skipped
MOST_HANGS = 2  # among them, because each takes as long as a batch may
HANG = "Hang"  # the error of a process that did not answer in time


@dataclass
class _Toll:
    """What running one batch has cost so far."""

    deaths: int = 0
    hangs: int = 0

    def count(self, crash: Crash) -> None:
        self.deaths += crash.fatal
        self.hangs += crash.error == HANG

    @property
    def spent(self) -> bool:
        return self.deaths >= MOST_DEATHS or self.hangs >= MOST_HANGS


class ShapeChanged(ValueError):
    """A model answers one input in another shape than the others."""


class Contained:
    """A target whose crashes are outcomes: a batch that raises is halved until the guilty rows stand alone.

    A batch that took its process with it runs again row by row up to the guilty one, because a row is quicker to run
    than a process to start; what comes after it runs as a batch.
    """

    def __init__(self, target: ModelTarget):
        self._target = target
        self._blank: Trace | None = None  # one row of NaN in the shape of a trace
        self._known = NOTHING_KNOWN  # the same, also of one that was not watched
        self._enough: Callable[[], bool] = lambda: False

    def ask_between_rows(self, enough: Callable[[], bool]) -> None:
        """A batch that runs row by row is left at the first row before which this is true, or raises."""
        self._enough = enough

    def predict(self, inputs: Tensor) -> Tensor:
        return self._target.predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        return self._run(batch, watched, _Toll())

    def _run(self, batch: Candidates, watched: bool, toll: _Toll) -> Trace:
        trace = attempt(lambda: self._of_known_shape(self._target.run(batch, watched)), refuses=False)
        if isinstance(trace, Crash):
            toll.count(trace)
            return (self._searched if trace.fatal else self._halved)(batch, trace, watched, toll)
        if self._blank is None and watched:
            self._known = self._blank = _blank_row(trace)
        elif self._known is NOTHING_KNOWN:
            self._known = _blank_row(trace)
        return trace

    def _of_known_shape(self, trace: Trace) -> Trace:
        """The trace; raises where an answer, or what a layer gives, has another shape than the first ones had."""
        known = self._known
        pairs = ((known.outputs, trace.outputs), (known.others, trace.others), (known.activations, trace.activations))
        for before, now in pairs:
            for name in before.keys() & now.keys():
                check_shape(name, now[name], before[name])
        return trace

    def _halved(self, batch: Candidates, crash: Crash, watched: bool, toll: _Toll) -> Trace:
        if len(batch) > 1:
            rows = all_rows(len(batch))
            halves = [batch.select(half) for half in rows.tensor_split(2)]
            return Trace.joined([trace for half in halves for trace in self._rest(half, watched, toll)])
        return self._crashed(crash)

    def _searched(self, batch: Candidates, crash: Crash, watched: bool, toll: _Toll) -> Trace:
        """Which row of a batch that killed its process does so alone; if none does, the first stands for its batch."""
        if len(batch) == 1:
            return self._crashed(crash)
        rows, traces = all_rows(len(batch)), list[Trace]()
        for row in rows.split(1):
            if toll.spent or (traces and self._enough()):
                break
            traces.append(self._run(batch.select(row), watched, toll))
            if any(one.fatal for one in traces[-1].crashes.values()):
                return Trace.joined([*traces, *self._rest(batch.select(rows[len(traces) :]), watched, toll)])
        if len(traces) < len(batch):
            first = traces or [self._crashed(crash)]
            trace = Trace.joined([*first, *self._skipped(len(batch) - len(first))])
        else:
            again = attempt(lambda: self._target.run(batch, watched), refuses=False)
            trace = Trace.joined(traces) if isinstance(again, Crash) else again
        return replace(trace, crashes={**trace.crashes, 0: crash})

    def _rest(self, batch: Candidates, watched: bool, toll: _Toll) -> list[Trace]:
        if toll.spent:
            return self._skipped(len(batch))
        return [self._run(batch, watched, toll)] if len(batch) else []

    def _skipped(self, count: int) -> list[Trace]:
        return [replace(self._blank or NOTHING_KNOWN, outcome=torch.tensor([Outcome.SKIPPED]))] * count

    def _crashed(self, crash: Crash) -> Trace:
        return replace(self._blank or NOTHING_KNOWN, crashes={0: crash})


NOTHING_KNOWN = Trace(torch.tensor([Outcome.CRASHED]), {})  # of a row, before any row has run


class ContainedGradients:
    """A differentiable target that does not raise: a batch that fails is halved until the guilty rows stand alone.

    Their scores are NaN and their gradient is zero, so nothing goes on from them; what such an input does to the model,
    the model's run tells. Halving also mends a batch whose graph does not fit into memory.
    """

    def __init__(self, target: Differentiable, sample: Tensor):
        """The sample [batch, ...] shows what the target gives; what it raises there, this raises."""
        self._target = target
        self._sample = target.linearise(sample, extremes=True)
        self._row_shape = sample.shape[1:] if sample.is_floating_point() else _gradient_shape(self._sample)

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        passed = attempt(lambda: self._target.linearise(inputs, extremes), refuses=False)
        if isinstance(passed, Crash):
            if len(inputs) == 1:
                return self._blank(inputs)
            return self._one_by_one(inputs, extremes) if passed.fatal else self._halved(inputs, extremes)
        return replace(passed, pull=partial(self._pulled, passed, inputs))

    def _halved(self, inputs: Tensor, extremes: bool) -> Linearised:
        return Linearised.joined([self.linearise(half, extremes) for half in inputs.tensor_split(2)])

    def _one_by_one(self, inputs: Tensor, extremes: bool) -> Linearised:
        """Of a batch that killed its process; after some deaths the rest of it is left without gradients."""
        toll, passes = _Toll(), list[Linearised]()
        for row in inputs.split(1):
            passed = None if toll.spent else attempt(partial(self._target.linearise, row, extremes), refuses=False)
            if isinstance(passed, Linearised):
                passes.append(replace(passed, pull=partial(self._pulled, passed, row)))
            else:
                if passed is not None:
                    toll.count(passed)
                passes.append(self._blank(row))
        return Linearised.joined(passes)

    def _blank(self, inputs: Tensor) -> Linearised:
        def nan(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {name: torch.full((1, *value.shape[1:]), torch.nan) for name, value in values.items()}

        known = self._sample
        pull = self._no_gradient
        return Linearised(nan(known.scores), nan(known.activations), nan(known.extremes), pull, nan(known.entered))

    def _pulled(
        self, passed: Linearised, inputs: Tensor, scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]
    ) -> Tensor:
        gradient = attempt(lambda: passed.pull(scores, activations), refuses=False)
        if not isinstance(gradient, Crash):
            return gradient
        if len(inputs) > 1:
            divided = self._one_by_one if gradient.fatal else self._halved
            return divided(inputs, False).pull(scores, activations)
        return self._no_gradient(scores, activations)

    def _no_gradient(self, scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
        """Of one row."""
        return torch.zeros(1, *self._row_shape)


class ContainedLayers:
    """Compares layers and does not raise: a batch that fails is halved until the guilty rows stand alone.

    Nothing is known of those, and of all that is left after some deaths of the models' process.
    """

    def __init__(self, compares: ComparesLayers):
        self._compares = compares
        self._lives = MOST_DEATHS

    def gaps(self, inputs: Tensor, variant: str) -> LayerGaps:
        found = attempt(lambda: self._compares.gaps(inputs, variant)) if self._lives else LayerGaps.none(len(inputs))
        if not isinstance(found, Crash):
            return found
        self._lives -= found.fatal
        if len(inputs) == 1:
            return LayerGaps.none(1)
        return LayerGaps.joined([self.gaps(half, variant) for half in inputs.tensor_split(2)])


def check_shape(name: str, values: Tensor, before: Tensor) -> None:
    """Refuses rows of another shape than earlier ones."""
    if values.shape[1:] != before.shape[1:]:
        shapes = f"{list(values.shape[1:])} for an input where they were {list(before.shape[1:])}"
        raise ShapeChanged(f"answers ({name}) are of shape {shapes}")


def _gradient_shape(passed: Linearised) -> torch.Size:
    """Of a row of tokens, for which the model looks up something of another shape."""
    return passed.pull({name: torch.zeros_like(value) for name, value in passed.scores.items()}, {}).shape[1:]


def _blank_row(trace: Trace) -> Trace:
    """A crashed row in the shape of this trace."""

    def blank(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: torch.full((1, *value.shape[1:]), torch.nan) for name, value in values.items()}

    return Trace(
        outcome=torch.tensor([Outcome.CRASHED]),
        outputs=blank(trace.outputs),
        others=blank(trace.others),
        activations=blank(trace.activations),
        extremes=blank(trace.extremes),
        metadata=blank(trace.metadata),
    )
