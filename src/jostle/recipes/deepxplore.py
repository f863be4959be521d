"""DeepXplore (Pei, Cao, Yang, Jana): gradient ascent on several models of one task until one of them deviates."""

from __future__ import annotations

from typing import Any

from jostle.campaign import Campaign
from jostle.composition.compose import campaign_of
from jostle.composition.recipe import Chosen, Recipe
from jostle.options.schema import Given
from jostle.recipes import dlfuzz
from jostle.records import Seeds
from jostle.subjects.subject import Subject

BALANCE = 0.1  # what neurons weigh, as in its experiments on MNIST
ITERATIONS = 20  # with steps that adapt; it takes up to 50 of one size
REACH = 10.0  # realistic changes may be large: of light, up to white
ONLY_SEEDS = 0.0  # the limit: no mutant is near enough to its root to be mutated itself


def _choices(given: Given) -> Chosen:
    return {
        **dlfuzz.choices(given),
        "perturbation": "light",
        "strategy": ("uncovered",),
        "neurons": 1 + len(given.get("models", ())),
        "balance": BALANCE,
        "iterations": ITERATIONS,
        "reach": REACH,
        "limit": ONLY_SEEDS,
    }


DEEPXPLORE = Recipe(
    "deepxplore",
    "Realistic changes (light, occlusion, blackout) that make one of several models answer otherwise.",
    _choices,
    compares_models=True,
    shrinks=True,
)


def deepxplore(subject: Subject, seeds: Seeds, **options: Any) -> Campaign:
    """Realistic changes along gradients until one of several models deviates; the others are `models` by name."""
    return campaign_of(DEEPXPLORE, subject, seeds, options)
