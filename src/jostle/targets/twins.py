"""A model next to its twin: the same inputs through both."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from jostle.interfaces import ModelTarget
from jostle.records import MODEL, TWIN, Candidates, Trace


class Twins:
    """Runs the model, then its twin; the trace is the model's with the twin's outputs added."""

    def __init__(self, model: ModelTarget, twin: ModelTarget):
        self._model, self._twin = model, twin

    def predict(self, inputs: Tensor) -> Tensor:
        return self._model.predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        model, twin = self._model.run(batch, watched), self._twin.run(batch)
        return replace(
            model,
            outputs={MODEL: model.outputs[MODEL], TWIN: twin.outputs[MODEL]},
            others={**model.others, **{f"{name} of the {TWIN}": value for name, value in twin.others.items()}},
            seconds={MODEL: model.seconds[MODEL], TWIN: twin.seconds[MODEL]},
        )
