"""Coverage of neurons as feedback."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.criteria import Activity, Criterion
from jostle.feedback.new_units import NewUnits
from jostle.profile import Layers, layers_in, neurons_in
from jostle.records import Candidates, Trace
from jostle.scaling import extremes_in

MOST_UNITS = 4_000_000_000  # eight gigabytes


class NeuronCoverage:
    """New is a row that covers a unit of its criterion that no row covered before; the gain is how many.

    Rows that are not finite in every watched layer are never new.
    """

    looks_at_inputs = False

    def __init__(self, name: str, criterion: Callable[[Layers], Criterion]):
        self._name = name
        self._make = criterion
        self._layers: Layers = ()
        self._criterion: Criterion | None = None
        self._seen = NewUnits(0)

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        rows, units = self.units(trace)
        gain = torch.zeros(len(trace.outcome), dtype=torch.float32)
        if len(rows):
            gain[rows] = self._seen.add(units).float()
        return gain

    def units(self, trace: Trace) -> tuple[Tensor, Tensor]:
        """The rows [n] that are finite, and what each covers [n, units in a row]; remembers nothing of it.

        The number `total` stands for covering nothing.
        """
        criterion = self._criterion or self._begun(trace)
        values = neurons_in(trace.activations, self._layers, len(trace.outcome))
        rows = values.isfinite().all(1).nonzero().squeeze(1)
        if not len(rows):
            return rows, torch.empty(0, 0, dtype=torch.int64)
        whole = len(rows) == len(values)
        extremes = extremes_in(trace.extremes, self._layers, len(values)) if trace.extremes else values[:, :0]
        return rows, criterion.units(Activity(values, extremes) if whole else Activity(values[rows], extremes[rows]))

    @property
    def total(self) -> int:
        """How many units there are, once a trace was seen."""
        return 0 if self._criterion is None else self._criterion.total

    def covered(self) -> Tensor:
        """[total] bool: the units covered so far."""
        return self._seen.covered()

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
