"""Coverage of neurons as feedback."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.criteria import Activity, Criterion
from jostle.feedback.new_units import NewUnits
from jostle.profile import Layers, layers_in, neurons_in
from jostle.records import Trace
from jostle.scaling import extremes_in

MOST_UNITS = 4_000_000_000  # eight gigabytes


class NeuronCoverage:
    """New is a row that covers a unit of its criterion that no row covered before; the gain is how many.

    Rows that are not finite in every watched layer are never new.
    """

    def __init__(self, name: str, criterion: Callable[[Layers], Criterion]):
        self._name = name
        self._make = criterion
        self._layers: Layers = ()
        self._criterion: Criterion | None = None
        self._seen = NewUnits(0)

    def assess(self, trace: Trace) -> Tensor:
        criterion = self._criterion or self._begun(trace)
        values = neurons_in(trace.activations, self._layers, len(trace.outcome))
        rows = values.isfinite().all(1).nonzero().squeeze(1)
        gain = torch.zeros(len(values))
        if len(rows):
            whole = len(rows) == len(values)
            extremes = extremes_in(trace.extremes, self._layers, len(values)) if trace.extremes else values[:, :0]
            activity = Activity(values, extremes) if whole else Activity(values[rows], extremes[rows])
            gain[rows] = self._seen.add(criterion.units(activity)).float()
        return gain

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        if self._criterion is None:
            return {self._name: {}}
        return {self._name: self._criterion.figures(self._seen)}

    def _begun(self, trace: Trace) -> Criterion:
        """The criterion over the layers of the first trace."""
        self._layers = layers_in(trace)
        self._criterion = self._make(self._layers)
        if self._criterion.total > MOST_UNITS:
            raise UsageError(
                f"{self._name} would count {self._criterion.total:,} units, which need "
                f"{2 * self._criterion.total / 1e9:,.0f} GB: choose fewer --sections, --buckets or --layers"
            )
        self._seen = NewUnits(self._criterion.total)
        return self._criterion
