"""Coverage in per cent of all neurons, constant ones included, as DeepHunter's paper and code count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.feedback.criteria import RankOptions
from jostle.feedback.neuron_parts import RANGED

Figures = Mapping[str, float]  # of one criterion


def percent(criterion: str, figures: Figures, sizes: Sequence[int]) -> float:
    """Of all neurons of layers of these sizes, or of the regions of all; neurons without a range count as uncovered."""
    share = figures["covered"]
    return 100 * (share * figures["neurons"] / sum(sizes) if criterion in RANGED else share)


def percent_by_rank(figures: Figures, sizes: Sequence[int]) -> float:
    """Of all neurons in all places, as DeepHunter's code counts TKNC; small layers have fewer places than k."""
    k = RankOptions.top
    return 100 * figures["ranks"] * sum(size * min(size, k) for size in sizes) / (k * sum(sizes))
