"""DeepHunter's prioritisation (Equation 2): what was fuzzed seldom is likelier to be fuzzed next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import number
from jostle.options.schema import Settings
from jostle.part import Part, first_line

Numbers = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class PriorityOptions:
    """How fast priority falls, and how far."""

    gamma: float = option(
        number("give a number above 0", above=0),
        "How fast entries fuzzed before lose priority",
        Theme.SCHEDULING,
        default=5.0,
    )
    p_min: float = option(
        number("give a probability above 0 and at most 1", above=0, at_most=1),
        "The least priority",
        Theme.SCHEDULING,
        default=0.3,
    )


class Priority:
    """How likely something is chosen that was fuzzed so often, never less than a minimum (Equation 2)."""

    def __init__(self, gamma: float = PriorityOptions.gamma, p_min: float = PriorityOptions.p_min):
        check(PriorityOptions, gamma=gamma, p_min=p_min)
        self._gamma, self._p_min = gamma, p_min

    def weights(self, fuzzed: Numbers) -> Numbers:
        weights: Numbers = np.maximum(1 - fuzzed / self._gamma, self._p_min)
        return weights


class LeastFuzzed:
    """Entries mutated less often are likelier, by the probabilities that DeepHunter gives its batches."""

    def __init__(self, priority: Priority | None = None):
        self._priority = priority or Priority()
        self._fuzzed = Growing()  # how often each entry was a parent

    def plan(self, entries: int, children: int, rng: torch.Generator) -> Tensor:
        self._fuzzed.extend(np.zeros(entries - len(self._fuzzed)))
        fuzzed = self._fuzzed.values()
        ids = drawn(self._priority.weights(fuzzed), children, rng)
        np.add.at(fuzzed, ids.numpy(), 1)
        return ids


class Growing:
    """Numbers that more are added to at the end, at a cost that does not depend on how many there are."""

    def __init__(self) -> None:
        self._room: Numbers = np.zeros(64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def values(self) -> Numbers:
        """All of them, to read and to change in place until the next are added."""
        return self._room[: self._count]

    def extend(self, more: Numbers) -> None:
        end = self._count + len(more)
        if end > len(self._room):
            self._room = np.concatenate([self._room, np.zeros(max(end, len(self._room)))])
        self._room[self._count : end] = more
        self._count = end


def drawn(weights: Numbers, count: int, rng: torch.Generator) -> Tensor:
    """Positions [count], each as likely as its weight."""
    ends = np.cumsum(weights)
    draws = torch.rand(count, generator=rng, dtype=torch.float64).numpy() * ends[-1]
    return torch.from_numpy(np.minimum(np.searchsorted(ends, draws, side="right"), len(weights) - 1))


def priority_of(settings: Settings) -> Priority:
    return Priority(settings[PriorityOptions].gamma, settings[PriorityOptions].p_min)


SELDOM = Part(first_line(LeastFuzzed), lambda settings, _: LeastFuzzed(priority_of(settings)), (PriorityOptions,))
