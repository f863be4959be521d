"""What the watched layers give on the seeds: the measure for where inputs lie and where they depart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from jostle.interfaces import Target
from jostle.records import Seeds, Trace, all_rows

MOST = 1024  # seeds, spread over all, because all are compared with each other
SMALLEST = 1e-12  # a distance of less is rounding


@dataclass(frozen=True)
class SeedLayers:
    """The activations of some seeds, by layer in the order they run."""

    activations: Mapping[str, Tensor]  # [seeds, neurons]
    novelty_layers: Sequence[str] = ()  # where nearest neighbours look: scores before a softmax, or what was named

    @staticmethod
    def of(target: Target, seeds: Seeds, batch: int, novelty_layers: Sequence[str]) -> SeedLayers:
        """Seeds that the model fails on are left out."""
        some = seeds.as_candidates().select(all_rows(len(seeds))[:: -(-len(seeds) // MOST)])
        trace = Trace.joined([target.run(part) for part in some.split(batch)])
        ran = trace.ran.nonzero().squeeze(1)
        return SeedLayers({name: values[ran].float() for name, values in trace.activations.items()}, novelty_layers)

    @cached_property
    def last_hidden(self) -> str | None:
        """The layer before the scores, or the only one that is watched; None if none is."""
        names = list(self.activations)
        if not names:
            return None
        scores = self.novelty_layers[-1] if self.novelty_layers else names[-1]
        position = names.index(scores) if scores in names else len(names)
        return names[max(position - 1, 0)]

    @cached_property
    def units(self) -> dict[str, float]:
        """By layer, the typical distance between a seed and its nearest other seed."""
        return {name: _unit(values) for name, values in self.activations.items()}

    def places(self, trace: Trace) -> Tensor | None:
        """Where inputs lie in the last hidden layer [batch, neurons], in its unit; None where no layer is watched."""
        name = self.last_hidden
        if name is None or name not in trace.activations:
            return None
        return trace.activations[name].float() / self.units[name]


def _unit(values: Tensor) -> float:
    """Of activations [seeds, neurons]; of seeds that all give the same, how large that is, or 1 if it is nothing."""
    finite = values[values.isfinite().all(1)].double()
    if len(finite) > 1:
        between = torch.cdist(finite, finite).fill_diagonal_(torch.inf)
        nearest = between.masked_fill(between <= SMALLEST, torch.inf).amin(1)
        nearest = nearest[nearest.isfinite()]
        if len(nearest):
            return float(nearest.median())
    size = float(finite.norm(dim=1).mean()) if len(finite) else 0.0
    return size if size > SMALLEST else 1.0
