"""What gradient ascent tries to make the model do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.records import MODEL

OTHERS = 0.5  # what each other class weighs beside the original one, as in DLFuzz's own code


class Goal(Protocol):
    """Another answer than the one that labels [rows] give; `luck` [rows] in 0..1 is drawn once for each line."""

    thin: bool  # it is reached only close to a surface, so that a step may not go far beyond

    def margins(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Tensor:
        """How far each row is from the goal [rows], in scores; below zero it is reached."""

    def weights(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Mapping[str, Tensor]:
        """What each score weighs in the objective, in the shapes of the scores."""


class AnotherClass:
    """The k likeliest other classes rise and the original class falls (DLFuzz, Equation 1)."""

    thin = False

    def __init__(self, classes: int, k: int = 4):
        if not 1 <= k < classes:
            raise UsageError(f"--others {k}: the model tells {classes} classes apart: give 1 to {classes - 1} others")
        self._k = k

    def margins(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Tensor:
        return margin(scores[MODEL], labels)

    def weights(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Mapping[str, Tensor]:
        others = _without(scores[MODEL], labels).topk(self._k, dim=1).indices
        weights = torch.zeros_like(scores[MODEL]).scatter_(1, others, OTHERS)
        return {MODEL: weights.scatter_(1, labels[:, None], -1.0)}


class OneDeviates:
    """One model, drawn for each line, turns from the class that all of them give, and the others stay (DeepXplore).

    What labels say is nothing to it: as long as the models agree, their class is the one to turn from.
    """

    thin = False

    def __init__(self, weight: float = 1.0):
        self._weight = weight  # of the one that shall deviate

    def margins(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Tensor:
        agreed = _first_answer(scores)
        each = torch.stack([margin(some, agreed) for some in scores.values()])  # [models, rows]
        deviant = self._deviant(len(scores), luck)
        return torch.where((each < 0).any(0), each.amin(0), each.gather(0, deviant[None]).squeeze(0))

    def weights(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Mapping[str, Tensor]:
        agreed, deviant = _first_answer(scores), self._deviant(len(scores), luck)
        return {
            name: torch.zeros_like(some).scatter_(
                1, agreed[:, None], torch.where(deviant == number, -self._weight, 1.0)[:, None].to(some)
            )
            for number, (name, some) in enumerate(scores.items())
        }

    def _deviant(self, models: int, luck: Tensor) -> Tensor:
        return (luck * models).long().clamp(max=models - 1)


class TwinsDisagree:
    """The model and a twin, drawn for each line, part between their class and a rival: one lead falls below zero first.

    Where leads of the class over its rival are opposite in model and twin, they disagree: so the mean of both leads is
    to become zero while their difference grows. Which rival, luck decides among those that are near.
    """

    thin = True

    def margins(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Tensor:
        model, twin = scores[MODEL].float(), self._twin(scores, luck)
        ours, theirs = self._leads(model, twin, luck)
        return torch.where(model.argmax(1) == twin.argmax(1), (ours + theirs).abs() / 2, -(ours - theirs).abs())

    def weights(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Mapping[str, Tensor]:
        model, twin = scores[MODEL].float(), self._twin(scores, luck)
        ours, theirs = self._leads(model, twin, luck)
        grows, falls = (ours - theirs).sign(), (ours + theirs).sign()  # of the leads' difference and mean
        pairs = self._pairs(model, twin, luck)
        return {
            MODEL: _weighed(model, pairs, (grows - falls) / 2),
            **{
                name: _weighed(twin, pairs, torch.where(chosen, -(grows + falls) / 2, 0.0))
                for name, chosen in zip(_twins(scores), self._chosen(scores, luck), strict=True)
            },
        }

    def _chosen(self, scores: Mapping[str, Tensor], luck: Tensor) -> Tensor:
        """[twins, rows] bool: which twin each line is of."""
        count = len(scores) - 1
        return torch.arange(count)[:, None] == (luck * count).long().clamp(max=count - 1)

    def _twin(self, scores: Mapping[str, Tensor], luck: Tensor) -> Tensor:
        """The scores [rows, classes] of the twin that each line is of."""
        all_twins = torch.stack([scores[name].float() for name in _twins(scores)])
        chosen = self._chosen(scores, luck).long().argmax(0)
        return all_twins[chosen, torch.arange(len(luck))]

    def _leads(self, model: Tensor, twin: Tensor, luck: Tensor) -> tuple[Tensor, Tensor]:
        """By how much the class lies above its rival in the model and in the twin [rows]."""
        pairs = self._pairs(model, twin, luck)
        ours, theirs = (scores.gather(1, pairs) for scores in (model, twin))
        return ours[:, 0] - ours[:, 1], theirs[:, 0] - theirs[:, 1]

    def _pairs(self, model: Tensor, twin: Tensor, luck: Tensor) -> Tensor:
        """[rows, 2] the model's class and the rival: the nearest, if luck does not favour another."""
        label = model.argmax(1, keepdim=True)
        mean = (model + twin) / 2
        behind = mean.gather(1, label) - mean
        favour = (luck[:, None] * torch.arange(1, model.shape[1] + 1) * GOLDEN).frac() * FAVOUR
        return torch.cat([label, (behind * (1 + favour)).scatter(1, label, torch.inf).argmin(1, keepdim=True)], 1)


GOLDEN = 61.8033988  # multiples of luck by it fall anywhere between 0 and 1, for each class elsewhere
FAVOUR = 1.0  # how many times as far off a rival may seem as it is


def _twins(scores: Mapping[str, Tensor]) -> list[str]:
    return [name for name in scores if name != MODEL]


def _weighed(scores: Tensor, pairs: Tensor, weight: Tensor) -> Tensor:
    """Weights [rows, classes] of the lead of a class over another [rows, 2]."""
    return torch.zeros_like(scores).scatter_(1, pairs, torch.stack([weight, -weight], 1))


def _first_answer(scores: Mapping[str, Tensor]) -> Tensor:
    return next(iter(scores.values())).argmax(1)


def margin(scores: Tensor, labels: Tensor) -> Tensor:
    """How far the label's score lies above the best other [rows]."""
    return scores.gather(1, labels[:, None]).squeeze(1) - _without(scores, labels).amax(1)


def _without(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.scatter(1, labels[:, None], -torch.inf)
