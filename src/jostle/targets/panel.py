"""Several models of one task on the same inputs, each watched (DeepXplore)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from jostle.interfaces import DifferentiableTarget
from jostle.records import MODEL, Candidates, Linearised, Trace


class Panel:
    """Runs the first model, then the others; their layers and outputs stand beside the first one's, under own names."""

    def __init__(self, members: Sequence[DifferentiableTarget]):
        self._members = members

    def predict(self, inputs: Tensor) -> Tensor:
        return self._members[0].predict(inputs)

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        traces = [member.run(batch, watched) for member in self._members]
        return replace(
            traces[0],
            outputs={variant(i): trace.outputs[MODEL] for i, trace in enumerate(traces)},
            others=_side_by_side([trace.others for trace in traces]),
            activations=_side_by_side([trace.activations for trace in traces]),
            extremes=_side_by_side([trace.extremes for trace in traces]),
            seconds={variant(i): trace.seconds[MODEL] for i, trace in enumerate(traces)},
        )

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        passes = [member.linearise(inputs, extremes) for member in self._members]

        def pull(scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
            gradients = [
                passed.pull({MODEL: scores[variant(i)]}, _own(activations, i)) for i, passed in enumerate(passes)
            ]
            return sum(gradients[1:], start=gradients[0])

        return Linearised(
            scores={variant(i): passed.scores[MODEL] for i, passed in enumerate(passes)},
            activations=_side_by_side([passed.activations for passed in passes]),
            extremes=_side_by_side([passed.extremes for passed in passes]),
            pull=pull,
        )


def variant(number: int) -> str:
    """The name of a member's outputs."""
    return MODEL if number == 0 else f"model {number + 1}"


def layer_name(number: int, name: str) -> str:
    """The name of a member's layer among those of all."""
    return name if number == 0 else f"{variant(number)}: {name}"


def _side_by_side(groups: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    return {layer_name(i, name): value for i, group in enumerate(groups) for name, value in group.items()}


def _own(activations: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
    """Of weights of all layers those of one member, under its own names."""
    if number:
        start = layer_name(number, "")
        return {name.removeprefix(start): value for name, value in activations.items() if name.startswith(start)}
    return {name: value for name, value in activations.items() if not name.startswith("model ")}
