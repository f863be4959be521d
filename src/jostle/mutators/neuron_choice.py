"""Which neurons gradient ascent tries to activate: DLFuzz's four strategies (§3.2) and DeepXplore's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.profile import Layers, neurons_in
from jostle.records import Lesson, Linearised, Trace
from jostle.scaling import extremes_in, layer_numbers, scaled

TOP_WEIGHTS = 0.1  # of all neurons with weights, as in DLFuzz's own code
NEAR = 0.1  # of a layer's span


@dataclass(frozen=True)
class Known:
    """What strategies choose by."""

    covered: Tensor  # [neurons] in how many of the inputs kept so far each neuron was active
    kept: int
    weights: Tensor  # [neurons] how strong the weights into each neuron are, 0 where it has none
    activity: Tensor  # [rows, neurons] scaled to 0..1; empty if no strategy looks at it
    threshold: float


# How likely each neuron is to be chosen, [neurons] or [rows, neurons]; 0 is never.
Strategy = Callable[[Known], Tensor]


def frequent(known: Known) -> Tensor:
    """Neurons that were active often, each as likely as it was often (strategy 1)."""
    return known.covered


def rare(known: Known) -> Tensor:
    """Neurons that were active seldom (strategy 2)."""
    return (known.kept - known.covered).clamp(min=0) + 1e-3


def heavy(known: Known) -> Tensor:
    """Neurons with the strongest weights, a tenth of all, each as likely (strategy 3)."""
    weighted = known.weights > 0
    top = max(1, round(TOP_WEIGHTS * int(weighted.sum())))
    least = known.weights.topk(top).values[-1]
    return (weighted & (known.weights >= least)).float()


def near(known: Known) -> Tensor:
    """Neurons just below the activation threshold, the nearest likeliest: to be pushed over it (strategy 4)."""
    below = (known.threshold - known.activity) / NEAR
    return torch.where(below >= 0, torch.exp(-below.clamp(max=50)), 0.0)


def uncovered(known: Known) -> Tensor:
    """Neurons that were never active, each as likely (DeepXplore); any once all were."""
    never = (known.covered == 0).float()
    return never if never.any() else torch.ones_like(never)


STRATEGIES: Mapping[str, Strategy] = {
    "frequent": frequent,
    "rare": rare,
    "heavy": heavy,
    "near": near,
    "uncovered": uncovered,
}


class NeuronChoice:
    """Chooses neurons of the watched layers, without repetition, the wanted number shared among the strategies."""

    def __init__(
        self,
        layers: Layers,
        count: int = 10,
        strategies: Sequence[Strategy] = (frequent,),
        threshold: float = 0.25,
        weights: Tensor | None = None,
    ):
        neurons = sum(size for _, size in layers)
        if count > neurons:
            raise UsageError(
                f"--neurons {count}: the layers chosen have {neurons} neurons: give fewer, or more with --layers or "
                f"--counted every"
            )
        if count < len(strategies):
            raise UsageError(f"--neurons {count} for {len(strategies)} strategies: give at least one for each")
        self._layers, self._layer_of, self._sizes = layers, layer_numbers(layers), [size for _, size in layers]
        self._strategies, self._threshold = strategies, threshold
        self.looks_closely = near in strategies  # at what each input does to each neuron
        self._shares = [count // len(strategies) + (i < count % len(strategies)) for i in range(len(strategies))]
        self._covered, self._kept = torch.zeros(neurons), 0
        self._weights = torch.zeros(neurons) if weights is None else weights

    def learn(self, lesson: Lesson) -> None:
        """Counts in how many inputs each neuron was active."""
        if len(lesson.kept):
            activity = self._activity(lesson.trace)
            self._covered += (activity > self._threshold).sum(0)
            self._kept += len(lesson.kept)

    def chosen(self, passed: Linearised, rng: torch.Generator) -> Tensor:
        """Neurons [rows, count] to activate; -1 where a strategy has too few."""
        rows = len(next(iter(passed.scores.values())))
        activity = self._activity(passed) if self.looks_closely else torch.empty(rows, 0)
        known = Known(self._covered, self._kept, self._weights, activity, self._threshold)
        chosen = torch.empty(rows, 0, dtype=torch.int64)
        for strategy, count in zip(self._strategies, self._shares, strict=True):
            likely = _without(strategy(known), chosen) if chosen.shape[1] else strategy(known)
            chosen = torch.cat([chosen, _drawn(likely, rows, count, rng)], 1)
        return chosen

    def weights(self, chosen: Tensor, weight: float) -> dict[str, Tensor]:
        """What each neuron weighs in the objective, by layer, each [rows, neurons]."""
        flat = torch.zeros(len(chosen), len(self._layer_of) + 1)  # the last column for -1
        flat.scatter_(1, chosen % (len(self._layer_of) + 1), weight)
        parts = flat[:, :-1].split(self._sizes, 1)
        return {name: part for (name, _), part in zip(self._layers, parts, strict=True)}

    def _activity(self, passed: Linearised | Trace) -> Tensor:
        """[rows, neurons] scaled to 0..1, 0 in layers that did not run."""
        if passed.activations and not passed.extremes:
            raise ValueError("neurons are chosen by scaled activations: watch the layers with extremes=True")
        rows = len(next(iter(passed.activations.values())))
        values = neurons_in(passed.activations, self._layers, rows)
        activity = scaled(values, extremes_in(passed.extremes, self._layers, rows), self._layer_of)
        return activity.nan_to_num_(0.0)


def _without(likely: Tensor, chosen: Tensor) -> Tensor:
    """[rows, neurons] the same likelihoods, 0 for what was chosen [rows, n] already."""
    room = torch.cat([likely.expand(len(chosen), -1), torch.zeros(len(chosen), 1)], 1)  # the last column for -1
    return room.scatter_(1, chosen % room.shape[1], 0.0)[:, :-1]


def _drawn(likely: Tensor, rows: int, count: int, rng: torch.Generator) -> Tensor:
    """Neurons [rows, count], none twice in a row, each as likely as it is; -1 where too few can be chosen.

    The largest of log-likelihood plus Gumbel noise are such a draw, for all rows at once.
    """
    noise = torch.empty(rows, likely.shape[-1]).exponential_(generator=rng).log_().neg_()
    order = (likely.log() + noise).topk(count, dim=1)
    return order.indices.masked_fill_(order.values.isinf(), -1)
