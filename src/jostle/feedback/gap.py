"""How near a model and its twins come to disagreeing, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import MODEL, Candidates, Trace
from jostle.task import LabelReading

LEAST = 2.0**-17  # of how far scores lie apart: nearer, rounding decides
STEPS = 100  # that a halving of the gap is counted in, so that what hardly comes nearer is not kept

# Outputs [batch, values] of a model and of a twin, all finite -> how many times the gap was halved [batch], from 0 on
Nearness = Callable[[Tensor, Tensor], Tensor]


class NearerToDisagreement:
    """New is a row that comes nearer to a disagreement of model and twin than any of its seed did (gap).

    The gain is how many times the gap to disagreeing was halved since, so the gains of a seed add up to how near it
    has come. Rows that are not finite in the model and in the twin are never new.
    """

    looks_at_inputs = False

    def __init__(self, nearness: Mapping[str, Nearness]):
        """Nearness by variant of the outputs; each twin has its own."""
        self._nearness = nearness
        self._best = {variant: torch.zeros(0, dtype=torch.int64) for variant in nearness}  # [seeds] steps

    def assess(self, candidates: Candidates, trace: Trace) -> Tensor:
        gains = [self._gain(variant, candidates, trace) for variant in self._nearness]
        return torch.stack(gains).sum(0) / STEPS

    def _gain(self, variant: str, candidates: Candidates, trace: Trace) -> Tensor:
        """Steps [batch] that each row comes nearer to a disagreement with one twin, rows one after another."""
        steps = self._steps(variant, trace)
        best = torch.zeros(len(candidates.seeds), dtype=torch.int64)
        best[: len(self._best[variant])] = self._best[variant]
        before = highest_before(candidates.roots, steps, best)
        self._best[variant] = best.scatter_reduce(0, candidates.roots, steps, "amax")
        return (steps - before).clamp(min=0).float()

    def _steps(self, variant: str, trace: Trace) -> Tensor:
        model, twin = (trace.outputs[name].double().unsqueeze(-1).flatten(1) for name in (MODEL, variant))
        steps = torch.zeros(len(model), dtype=torch.int64)
        known = (trace.ran & (model.isfinite() & twin.isfinite()).all(1)).nonzero().squeeze(1)
        if len(known):
            steps[known] = (self._nearness[variant](model[known], twin[known]) * STEPS).floor().long()
        return steps

    def coverage(self) -> Mapping[str, Mapping[str, float]]:
        if not any(map(len, self._best.values())):
            return {"gap": {}}
        halvings = torch.stack(list(self._best.values())).amax(0) / STEPS  # [seeds]
        return {"gap": {"halvings": float(halvings.max()), "mean halvings": float(halvings.mean())}}


def highest_before(groups: Tensor, values: Tensor, start: Tensor) -> Tensor:
    """Of each row the highest value [rows] that an earlier row of its group has, or its group had at the start.

    Groups [rows] are positions in `start` [groups]; values [rows] are whole and not negative.
    """
    order = groups.argsort(stable=True)
    apart = groups[order] * (int(torch.maximum(values.max(), start.max())) + 1) if len(groups) else groups
    highest = (values[order] + apart).cummax(0).values - apart  # a later group begins above all of an earlier one
    first = torch.ones_like(order, dtype=torch.bool)
    first[1:] = groups[order][1:] != groups[order][:-1]
    earlier = torch.where(first, 0, highest.roll(1))
    before = torch.empty_like(values)
    before[order] = torch.maximum(earlier, start[groups[order]])
    return before


def to_another_top(k: int = 1, margin: float | None = None) -> Nearness:
    """Until the k best classes differ: how far the model's k best lead in the model or in the twin, whichever is less.

    With a margin, what the two leads lack in difference counts too.
    """

    def nearness(model: Tensor, twin: Tensor) -> Tensor:
        best = model.topk(min(k, model.shape[1] - 1), dim=1).indices
        ours, theirs = (_lead(scores, best) for scores in (model, twin))
        lacking = ((margin or 0.0) - (ours - theirs).abs()).clamp(min=0)
        return _halvings(torch.minimum(ours, theirs).clamp(min=0) + lacking, model.amax(1) - model.amin(1))

    return nearness


def _lead(scores: Tensor, best: Tensor) -> Tensor:
    """[batch] by how much classes [batch, k] lie above all others."""
    return scores.gather(1, best).amin(1) - scores.scatter(1, best, -torch.inf).amax(1)


def to_another_label(cut: float) -> Nearness:
    """Until a yes becomes a no: how far the nearest score lies from the cut, in the model or in the twin."""

    def nearness(model: Tensor, twin: Tensor) -> Tensor:
        says = torch.where(model > cut, 1.0, -1.0)
        apart = torch.minimum(says * (model - cut), says * (twin - cut)).amin(1)
        return _halvings(apart.clamp(min=0), (model - cut).abs().amax(1))

    return nearness


def _halvings(gap: Tensor, whole: Tensor) -> Tensor:
    """How often the largest gap that there can be [batch] was halved to come to this one [batch]."""
    relative = gap / whole.clamp(min=torch.finfo(torch.float64).tiny)
    return -relative.clamp(LEAST, 1.0).log2()


def to_other_numbers(model: Tensor, twin: Tensor) -> Tensor:
    """How large the largest difference is, in doublings of what rounding leaves."""
    apart = (model - twin).abs() / (1 + torch.maximum(model.abs(), twin.abs()))
    return (apart.amax(1) / LEAST).clamp(min=1.0).log2()


def nearness_named(agree: str, reading: LabelReading, margin: float | None = None) -> Nearness:
    """What comes near to what `--agree` says is a disagreement: argmax, topK, labels, or a tolerance."""
    if agree == "labels":
        return to_another_label(reading.cut)
    if agree == "argmax":
        return to_another_top(1, margin)
    return to_another_top(int(agree[3:])) if agree.startswith("top") else to_other_numbers


def _gap(settings: Settings, context: PartContext) -> NearerToDisagreement:
    asked = _agreement(settings, context).split(",")
    each = asked if len(asked) > 1 else asked * len(context.twins)
    margin = settings.values.get("margin")
    nearness = {
        variant: nearness_named(how, context.reading, margin) for variant, how in zip(context.twins, each, strict=True)
    }
    return NearerToDisagreement(nearness)


def _agreement(settings: Settings, context: PartContext) -> str:
    """What `--agree` says, or where no oracle reads it, the same answer."""
    agree: str = settings.values.get("agree", "argmax" if context.classes else "auto")
    return agree


GAP = Part(first_line(NearerToDisagreement), _gap)
