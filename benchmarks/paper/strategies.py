"""Fuzzers whose coverage is compared over executions: DeepHunter and those that are put beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jostle.composition.recipe import Recipe
from jostle.recipes.deephunter import DEEPHUNTER
from jostle.recipes.random import RANDOM
from jostle.recipes.tensorfuzz import TENSORFUZZ
from paper.deephunter_published import CRITERIA

TRANSFORMATIONS = {"mutator": ["metamorphic"], "ranges": "paper"}
DEEPTEST_ACTIVE = 0.2  # scaled activation from which DeepTest counts a neuron


@dataclass(frozen=True)
class Strategy:
    """A recipe with the options that make it the fuzzer that it stands for."""

    name: str
    recipe: Recipe
    options: Mapping[str, Any] = field(default_factory=dict)
    seeks_novelty: bool = False  # in the layer before softmax, which no neuron criterion counts


def deephunter(*criteria: str, scheduler: str | None = None) -> Strategy:
    """DeepHunter guided by these criteria."""
    return Strategy("DeepHunter", DEEPHUNTER, {"coverage": list(criteria), "scheduler": scheduler, "ranges": "paper"})


# The same transformations of the seeds, without feedback: nothing is kept, so nothing is changed twice.
UNGUIDED = Strategy("random", RANDOM, TRANSFORMATIONS)
# What TensorFuzz keeps and whom it chooses, with DeepHunter's transformations and with its own noise.
NEAREST = Strategy("TensorFuzz's, transformations", TENSORFUZZ, {**TRANSFORMATIONS, "coverage": ["nearest"]}, True)
NEAREST_NOISE = Strategy("TensorFuzz's, noise", TENSORFUZZ, {"coverage": ["nearest"]}, True)
# DeepTest's Algorithm 1: go on with an image as long as neuron coverage grows. One level: only active neurons lead.
GREEDY = Strategy(
    "DeepTest-like",
    DEEPHUNTER,
    {"coverage": ["nc"], "active": DEEPTEST_ACTIVE, "levels": 1, "scheduler": "climb", "fresh": 0, "ranges": "paper"},
)


def strategy_named(name: str) -> Strategy:
    """What cells call it; a criterion stands for DeepHunter guided by it."""
    return deephunter(name) if name in CRITERIA else OTHERS[name]


OTHERS = {
    "random": UNGUIDED,
    "nearest": NEAREST,
    "nearest-noise": NEAREST_NOISE,
    "greedy": GREEDY,
    "together-pool": deephunter(*CRITERIA, scheduler="pool"),
    "together-adaptive": deephunter(*CRITERIA, scheduler="adaptive"),
}
