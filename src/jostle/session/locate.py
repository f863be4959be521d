"""In which layer a finding begins: the first that is not finite, or that departs from the reference's course."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from jostle.foreign import Crash, attempt
from jostle.interfaces import Differentiable
from jostle.records import Candidates, Linearised, Trace
from jostle.session.divergence import lasting_start
from jostle.session.seed_layers import SeedLayers
from jostle.storage.finding_record import DEPARTS, NOT_FINITE, Location

LARGE = 0.5  # of the largest departure: where an input goes another way, even if not as far as to another seed


def departures(trace: Trace, usual: Trace, seeds: SeedLayers) -> list[Location | None]:
    """The first layer in which each input of a trace departs from what is usual for it, and goes on to.

    That is as far as from a seed to its nearest other seed; of an input that nowhere goes as far, half as far as it
    goes anywhere.
    """
    names = [name for name in trace.activations if name in usual.activations and name in seeds.units]
    if not names:
        return [None] * len(trace.outcome)
    gaps = [(trace.activations[name].float() - usual.activations[name].float()).norm(dim=1) for name in names]
    units = torch.tensor([seeds.units[name] for name in names])
    return [_departure(names, row, units) for row in torch.stack(gaps, 1)]


def _departure(names: list[str], gaps: Tensor, units: Tensor) -> Location | None:
    """Of one input, given how far [layers] it is from its usual course."""
    relative = gaps / units
    finite = relative[relative.isfinite()]
    if not len(finite) or not float(finite.max()) > 0:
        return None
    relative = relative.nan_to_num(torch.inf)
    starts = (lasting_start(relative > 1), lasting_start(relative >= LARGE * float(finite.max())))
    layer = next((start for start in starts if start is not None), int(relative.argmax()))
    return Location(names[layer], DEPARTS, float(gaps[layer]), float(units[layer]))


def not_finite(rows: Candidates, trace: Trace, gradients: Differentiable | None) -> list[Location | None]:
    """The first place in which each input of a trace is not finite, and the range of what went in there."""
    places = [(name, values.reshape(len(values), -1)) for name, values in trace.everywhere()]
    passed = None if gradients is None else attempt(partial(gradients.linearise, rows.inputs, extremes=True))
    known = None if isinstance(passed, Crash) else passed
    entered, extremes = {} if known is None else known.entered, _extremes(rows, trace, known)
    return [_beginning(row, places, extremes, entered) for row in range(len(rows))]


def _beginning(
    row: int, places: list[tuple[str, Tensor]], extremes: Mapping[str, Tensor], entered: Mapping[str, Tensor]
) -> Location | None:
    """What went in is what the layer was given where that is known, else what the watched one before it gave."""
    before = extremes[""]
    for name, values in places:
        if not values[row].isfinite().all():
            low, high = entered.get(name, before)[row].tolist()
            return Location(name, NOT_FINITE, low, high)
        before = extremes.get(name, before)
    return None


def _extremes(rows: Candidates, trace: Trace, passed: Linearised | None) -> dict[str, Tensor]:
    """The smallest and the largest value [batch, 2] that each layer gives, the inputs under "".

    Of a model that is not differentiable only what is watched is known: means of channels, or every unit.
    """
    known = {} if passed is None else passed.extremes
    seen = {name: known.get(name, _ends(values)) for name, values in trace.activations.items()}
    return {"": _ends(rows.inputs), **seen}


def _ends(values: Tensor) -> Tensor:
    flat = values.flatten(1).float()
    return torch.stack([flat.amin(1), flat.amax(1)], 1)
