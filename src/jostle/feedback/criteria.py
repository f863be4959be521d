"""The six neuron criteria of DeepHunter as pure functions from activations to numbered units (Table 1, DeepGauge).

Units are numbered from 0; the number `total` stands for "covers nothing". Where the paper splits a criterion's interval
into buckets against flooded feedback (§3.4), the units are the buckets, and the figures also give the plain criterion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.new_units import NewUnits
from jostle.options.campaign import ActivityOptions
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import HELD
from jostle.profile import Layers, Profile
from jostle.scaling import layer_numbers, spans

LEVELS = 50  # from the middle of a range to its end
ROUNDING = 1e-5  # of a range: in batches of another size, the same input differs by less


@dataclass(frozen=True)
class SectionOptions:
    """How finely the range of a neuron is cut."""

    sections: int = option(HELD, "Sections of a neuron's range (kmnc)", Theme.GUIDES, default=1000)


@dataclass(frozen=True)
class BucketOptions:
    """How far beyond the range of a neuron is counted."""

    buckets: int = option(HELD, "Sections counted beyond a range (nbc, snac)", Theme.GUIDES, default=10)


@dataclass(frozen=True)
class RankOptions:
    """How many neurons of a layer count as its most or least active."""

    top: int = option(HELD, "How many of a layer count (tknc, bknc)", Theme.GUIDES, default=10)


@dataclass(frozen=True)
class LevelOptions:
    """How the search is led to neurons that are not active yet."""

    levels: int = option(
        HELD, "Levels below that, which lead the search and count for nothing (dlfuzz 100)", Theme.GUIDES, default=10
    )


@dataclass(frozen=True)
class Activity:
    """What the neurons of all watched layers did, layer after layer."""

    values: Tensor  # [batch, neurons]
    extremes: Tensor  # [batch, layers, 2] smallest and largest of all values of a layer; empty unless asked for


class Criterion(Protocol):
    """Which units does a batch cover?"""

    total: int

    def units(self, activity: Activity) -> Tensor:
        """Unit numbers [batch, n] for finite activations."""

    def figures(self, seen: NewUnits) -> Mapping[str, float]:
        """Shares and counts of what was covered so far."""


class ActiveNeurons:
    """Neurons whose activation, scaled to 0..1 over its layer and input, exceeds a threshold (NC, DeepXplore).

    Units are each neuron above the threshold, and levels on the way there, which lead the search and count for nothing.
    """

    def __init__(self, layers: Layers, threshold: float = ActivityOptions.active, levels: int = LevelOptions.levels):
        check(ActivityOptions, active=threshold)
        check(LevelOptions, levels=levels)
        self._threshold, self._levels = threshold, levels
        self._layer_of = layer_numbers(layers)
        self._neurons = len(self._layer_of)
        self._bases = torch.arange(self._neurons) * (levels + 1)
        self.total = self._neurons * (levels + 1)

    def units(self, activity: Activity) -> Tensor:
        smallest, span = spans(activity.extremes, self._layer_of)
        height, full = activity.values - smallest, self._threshold * span
        levels = (height / full * self._levels).nan_to_num_(0).clamp_(0, self._levels - 1).long()
        return torch.where(height > full, self._levels, levels).add_(self._bases)

    def figures(self, seen: NewUnits) -> Mapping[str, float]:
        active = seen.covered().view(self._neurons, -1)[:, self._levels]
        return {"covered": _share(active), "neurons": self._neurons}


class Sections:
    """Sections of the range that each neuron has on known data, k equal ones (KMNC)."""

    def __init__(self, profile: Profile, k: int = SectionOptions.sections):
        check(SectionOptions, sections=k)
        self._range = _Range(profile)
        self._k = k
        self._bases = torch.arange(self._range.neurons) * k
        self.total = self._range.neurons * k

    def units(self, activity: Activity) -> Tensor:
        values = self._range.own(activity.values)
        place = ((values - self._range.low) * (self._k / self._range.width)).clamp_(0, self._k - 1).long()
        inside = (values - self._range.middle).abs() <= self._range.reach
        return torch.where(inside, place.add_(self._bases), self.total)

    def figures(self, seen: NewUnits) -> Mapping[str, float]:
        return {"covered": seen.count / self.total, **self._range.figures()}


class Boundaries:
    """Regions beyond the range that each neuron has on known data, above it (SNAC) or on both sides (NBC).

    Each side is a row of buckets, every one as wide as a section of KMNC, the last without end. Levels from the middle
    of the range to either end are units too: they lead the search there and count for nothing.
    """

    def __init__(
        self,
        profile: Profile,
        both_sides: bool,
        buckets: int = BucketOptions.buckets,
        sections: int = SectionOptions.sections,
    ):
        check(BucketOptions, buckets=buckets)
        check(SectionOptions, sections=sections)
        self._range = _Range(profile)
        self._both, self._buckets, self._sections = both_sides, buckets, sections
        self._above = torch.arange(self._range.neurons) * (LEVELS + buckets)
        self._below = self._above + self._range.neurons * (LEVELS + buckets)
        self.total = self._range.neurons * (LEVELS + buckets) * (2 if both_sides else 1)

    def units(self, activity: Activity) -> Tensor:
        values = self._range.own(activity.values)
        beyond = (values - self._range.middle).abs() > self._range.reach
        above = self._side(values - self._range.high, beyond, self._above)
        below = self._side(self._range.low - values, beyond, self._below) if self._both else self.total
        return torch.where(values < self._range.middle, below, above)

    def _side(self, distance: Tensor, beyond: Tensor, bases: Tensor) -> Tensor:
        """Unit numbers of values at a distance from one end of their range, below zero within it."""
        outside = (distance * (self._sections / self._range.width)).clamp_(0, self._buckets - 1).long() + LEVELS
        inside = (LEVELS + distance * (2 * LEVELS / self._range.width)).clamp_(0, LEVELS - 1).long()
        return torch.where(beyond, outside, inside).add_(bases)

    def figures(self, seen: NewUnits) -> Mapping[str, float]:
        buckets = seen.covered().view(-1, LEVELS + self._buckets)[:, LEVELS:]
        return {
            "covered": _share(buckets.any(1)),
            "ceiling": self._range.ceiling(self._both),
            "buckets": _share(buckets),
            **self._range.figures(),
        }


class Ranked:
    """Neurons that were among the k most (TKNC) or least (BKNC) active of their layer; units are neuron and rank.

    Neurons of one value all take the last of the places that they share, so a neuron counts only if it is among the k
    in whatever order ties are broken, and where a neuron stands in its layer decides nothing (decision 20).
    """

    def __init__(self, layers: Layers, k: int = RankOptions.top, least: bool = False):
        check(RankOptions, top=k)
        self._sizes = [size for _, size in layers]
        if k > max(self._sizes):
            raise UsageError(f"--top {k}: the largest watched layer has {max(self._sizes)} neurons: give fewer")
        self._k, self._least = k, least
        self._neurons = sum(self._sizes)
        self.total = self._neurons * k

    def units(self, activity: Activity) -> Tensor:
        parts = []
        start = 0
        for values in activity.values.split(self._sizes, 1):
            best, neurons = values.topk(min(self._k + 1, values.shape[1]), dim=1, largest=not self._least)
            ranks = _last_shared_places(best)[:, : self._k]  # the neuron in place k + 1 tells who ties with it
            numbers = (neurons[:, : self._k] + start) * self._k + ranks
            parts.append(torch.where(ranks < self._k, numbers, self.total))
            start += values.shape[1]
        return torch.cat(parts, 1)

    def figures(self, seen: NewUnits) -> Mapping[str, float]:
        attainable = sum(size * min(size, self._k) for size in self._sizes)
        return {
            "covered": _share(seen.covered().view(-1, self._k).any(1)),
            "ranks": seen.count / attainable,
            "neurons": self._neurons,
        }


class _Range:
    """The neurons that have a range, those that never change left out."""

    def __init__(self, profile: Profile):
        self._live = (~profile.constant).nonzero().squeeze(1)
        self._whole = len(self._live) == len(profile.low)
        self._excluded = len(profile.low) - len(self._live)
        if not len(self._live):
            raise UsageError("every neuron is constant on the profiled data: profile more inputs that differ")
        self.low, self.high = profile.low[self._live], profile.high[self._live]
        self.width = self.high - self.low
        self.middle = self.low + self.width / 2
        self.reach = self.width * (0.5 + ROUNDING)  # from the middle to where the range ends
        self.neurons = len(self._live)

    def own(self, values: Tensor) -> Tensor:
        """Of all neurons [batch, neurons] those with a range."""
        return values if self._whole else values.index_select(1, self._live)

    def figures(self) -> dict[str, float]:
        return {"neurons": self.neurons, "excluded": self._excluded}

    def ceiling(self, both_sides: bool) -> float:
        """The share of sides that can be reached: nothing lies below a range that ends at just 0, or above just 1.

        Such ends are those of ReLU, sigmoid and softmax; a neuron without one hits them with probability zero.
        """
        above = (self.high != 1).float().mean()
        return float((above + (self.low != 0).float().mean()) / 2 if both_sides else above)


def _last_shared_places(ordered: Tensor) -> Tensor:
    """For ordered values [batch, n] the last place [batch, n] that holds the same value, counted from 0."""
    places = torch.arange(ordered.shape[1]).expand(ordered.shape)
    followed = torch.zeros_like(ordered, dtype=torch.bool)
    followed[:, :-1] = ordered[:, :-1] == ordered[:, 1:]
    ends = places.masked_fill(followed, ordered.shape[1])
    return ends.flip(1).cummin(1).values.flip(1)


def _share(covered: Tensor) -> float:
    return int(covered.sum()) / covered.numel()
