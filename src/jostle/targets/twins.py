"""A model next to its twins: the same inputs through all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from jostle.foreign import Crash, FailedElsewhere, attempt
from jostle.interfaces import DifferentiableTarget, ModelTarget
from jostle.records import MODEL, TWIN, Candidates, Linearised, Trace
from jostle.targets.side_by_side import passed_together


def variants(names: Sequence[str]) -> dict[str, str]:
    """By variant of the outputs, the name of each twin: a twin alone is `twin`, several go by their names."""
    return {TWIN: names[0]} if len(names) == 1 else {name: name for name in names}


class Twins:
    """Runs the model, then each twin by its name; the trace is the model's with the twins' outputs, by variant."""

    def __init__(self, model: DifferentiableTarget, twins: Mapping[str, DifferentiableTarget]):
        self._model, self._twins = model, twins
        self._names = variants(list(twins))

    def predict(self, inputs: Tensor) -> Tensor:
        return self._model.predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        model = self._model.run(batch, watched)
        twins = {variant: _ran(name, self._twins[name], batch) for variant, name in self._names.items()}
        others = {
            f"{name} of the {variant}": value for variant, twin in twins.items() for name, value in twin.others.items()
        }
        return replace(
            model,
            outputs={**model.outputs, **{variant: twin.outputs[MODEL] for variant, twin in twins.items()}},
            others={**model.others, **others},
            seconds={**model.seconds, **{variant: twin.seconds[MODEL] for variant, twin in twins.items()}},
        )

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        """Of all of them; only layers of the model are watched."""
        passes = {variant: self._twins[name].linearise(inputs) for variant, name in self._names.items()}
        return passed_together({MODEL: self._model.linearise(inputs, extremes), **passes})


def _ran(name: str, twin: ModelTarget, batch: Candidates) -> Trace:
    """What a twin does; what it raises, this raises, with the name of the twin in the crash."""
    trace = attempt(partial(twin.run, batch))
    if isinstance(trace, Crash):
        raise FailedElsewhere(replace(trace, twin=name))
    return trace
