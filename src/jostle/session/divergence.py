"""Where twins part: the first layer in which a twin is further from its model than on the seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.held import shown_name
from jostle.interfaces import ComparesLayers
from jostle.records import LayerGaps, all_rows
from jostle.storage.finding_record import Divergence, LayerDivergence

SEEDS = 64  # at most, spread over all, that tell what is usual
USUAL = 0.95  # of the seeds diverge at most as far as what we take for usual
FACTOR = 3  # times what is usual is more than chance
LEAST = 1e-6  # of a layer's scale: less is rounding
SLIGHT = 1e-3  # of the largest divergence: where less differs, it does not begin
UNLIKE = 0.5  # of a layer's scale: if later layers are close again, these two do not compute the same
SMALLEST = 1e-12  # scale of a layer that gives zeros


@dataclass(frozen=True)
class OnSeedLayers:
    """What layers give and by how much they differ on the seeds."""

    layers: tuple[tuple[str, str], ...]  # of the model and of the twin
    scales: Tensor  # [layers] root mean square of what the model gives
    usual: Tensor  # [layers] divergence in units of the scale, NaN where a layer did not run

    def relative(self, found: LayerGaps) -> Tensor:
        """Gaps [batch, layers] in units of the scale; of an input with larger values, of its own."""
        sizes = torch.where(found.sizes.isfinite(), found.sizes, 0.0)
        return found.gaps / torch.maximum(sizes, self.scales).clamp(min=SMALLEST)

    @property
    def alike(self) -> Tensor:
        """[layers] bool: layers that compute the same, as far as the seeds tell."""
        later = torch.where(self.usual.isnan(), torch.inf, self.usual).flip(0).cummin(0).values.flip(0)
        return ((self.usual <= UNLIKE) | (self.usual <= 10 * later)) & ~self.usual.isnan()


class LocatedDivergence:
    """Compares the layers of twins on findings with what they show on the seeds, which are run once."""

    def __init__(self, compares: ComparesLayers, seeds: Tensor, twins: Mapping[str, str]):
        """The compared models must not raise; seeds are [seeds, ...], and twins go by variant."""
        self._compares, self._twins = compares, twins
        self._seeds = seeds[all_rows(len(seeds))[:: -(-len(seeds) // SEEDS)]]
        self._known: dict[str, OnSeedLayers] = {}

    def on(self, inputs: Tensor, variant: str) -> list[Divergence | None]:
        """Of each of the inputs [batch, ...]; None where the models failed when looked into."""
        if variant not in self._known:
            self._known[variant] = on_seed_layers(self._compares.gaps(self._seeds, variant))
        known, twin = self._known[variant], shown_name(self._twins[variant])
        if not known.layers:
            return [Divergence(twin, None, False, ())] * len(inputs)
        found = self._compares.gaps(inputs, variant)
        if found.layers != known.layers:
            return [None] * len(inputs)
        return [_divergence(twin, known, row) for row in known.relative(found)]


def on_seed_layers(found: LayerGaps) -> OnSeedLayers:
    """What is usual, given the gaps on seeds."""
    sizes = torch.where(found.sizes.isfinite(), found.sizes, torch.nan)
    unscaled = OnSeedLayers(found.layers, sizes.square().nanmean(0).sqrt().nan_to_num(0.0), sizes.new_empty(0))
    ordered = unscaled.relative(found).sort(0).values  # NaN last
    ran = (~ordered.isnan()).sum(0)
    last = ((ran * USUAL).ceil().long() - 1).clamp(min=0)
    usual = ordered.gather(0, last[None])[0] if len(ordered) else sizes.new_empty(0)
    return OnSeedLayers(found.layers, unscaled.scales, usual)


def _divergence(twin: str, known: OnSeedLayers, values: Tensor) -> Divergence | None:
    """Of one input, given the divergence [layers]; None if no layer ran."""
    shown = (known.alike & ~values.isnan()).nonzero().flatten()
    if not len(shown):
        return None
    values, usual = values[shown], known.usual[shown]
    beyond = lasting_start(values > (FACTOR * usual).clamp(min=LEAST))
    begins = beyond if beyond is not None else _first(values > _noticeable(values))
    names = [known.layers[number] for number in shown.tolist()]
    table = zip(names, values.tolist(), usual.tolist(), strict=True)
    layers = tuple(LayerDivergence(ours, theirs, value, on_seeds) for (ours, theirs), value, on_seeds in table)
    return Divergence(twin, None if begins is None else names[begins][0], beyond is not None, layers)


def lasting_start(over: Tensor) -> int | None:
    """The first layer that is over [layers] and from which on at least half of them are.

    Not all, because layers of other branches run in between; but one alone comes to nothing.
    """
    lasting = over.flip(0).double().mul(2).sub(1).cumsum(0).flip(0) >= 0
    return _first(over & lasting)


def _first(chosen: Tensor) -> int | None:
    found = chosen.nonzero()
    return int(found[0]) if len(found) else None


def _noticeable(values: Tensor) -> float:
    largest = values[values.isfinite()].max() if values.isfinite().any() else values.new_zeros(())
    return max(LEAST, SLIGHT * float(largest))
