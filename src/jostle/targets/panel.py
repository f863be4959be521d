"""Several models of one task on the same inputs, each watched (DeepXplore)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from jostle.interfaces import DifferentiableTarget
from jostle.records import MODEL, Candidates, Linearised, Trace
from jostle.targets.side_by_side import layer_of, passed_together, together


class Panel:
    """Runs the first model, then the others; their layers and outputs stand beside the first one's, under own names."""

    def __init__(self, members: Sequence[DifferentiableTarget]):
        self._members = {variant(number): member for number, member in enumerate(members)}

    def predict(self, inputs: Tensor) -> Tensor:
        return self._members[MODEL].predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        traces = {name: member.run(batch, watched) for name, member in self._members.items()}
        return replace(
            traces[MODEL],
            outputs={name: trace.outputs[MODEL] for name, trace in traces.items()},
            others=together({name: trace.others for name, trace in traces.items()}),
            activations=together({name: trace.activations for name, trace in traces.items()}),
            extremes=together({name: trace.extremes for name, trace in traces.items()}),
            seconds={name: trace.seconds[MODEL] for name, trace in traces.items()},
        )

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        return passed_together({name: member.linearise(inputs, extremes) for name, member in self._members.items()})


def variant(number: int) -> str:
    """The name of a member's outputs."""
    return MODEL if number == 0 else f"model {number + 1}"


def layer_name(number: int, name: str) -> str:
    """The name of a member's layer among those of all."""
    return layer_of(variant(number), name)
