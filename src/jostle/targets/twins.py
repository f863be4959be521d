"""A model next to its twins: the same inputs through all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from jostle.interfaces import DifferentiableTarget
from jostle.records import MODEL, TWIN, Candidates, Linearised, Trace
from jostle.targets.side_by_side import passed_together


def variants(names: Sequence[str]) -> dict[str, str]:
    """By variant of the outputs, the name of each twin: a twin alone is `twin`, several go by their names."""
    return {TWIN: names[0]} if len(names) == 1 else {name: name for name in names}


class Twins:
    """Runs the model, then each twin; the trace is the model's with the twins' outputs added, by variant."""

    def __init__(self, model: DifferentiableTarget, twins: Mapping[str, DifferentiableTarget]):
        self._model, self._twins = model, twins

    def predict(self, inputs: Tensor) -> Tensor:
        return self._model.predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        model = self._model.run(batch, watched)
        twins = {variant: twin.run(batch) for variant, twin in self._twins.items()}
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
        passes = {variant: twin.linearise(inputs) for variant, twin in self._twins.items()}
        return passed_together({MODEL: self._model.linearise(inputs, extremes), **passes})
