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

    def margins(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Tensor:
        """How far each row is from the goal [rows], in scores; below zero it is reached."""

    def weights(self, scores: Mapping[str, Tensor], labels: Tensor, luck: Tensor) -> Mapping[str, Tensor]:
        """What each score weighs in the objective, in the shapes of the scores."""


class AnotherClass:
    """The k likeliest other classes rise and the original class falls (DLFuzz, Equation 1)."""

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


def _first_answer(scores: Mapping[str, Tensor]) -> Tensor:
    return next(iter(scores.values())).argmax(1)


def margin(scores: Tensor, labels: Tensor) -> Tensor:
    """How far the label's score lies above the best other [rows]."""
    return scores.gather(1, labels[:, None]).squeeze(1) - _without(scores, labels).amax(1)


def _without(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.scatter(1, labels[:, None], -torch.inf)
