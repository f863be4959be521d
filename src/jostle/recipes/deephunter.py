"""DeepHunter (Xie et al.): metamorphic mutation of images, guided by neuron criteria, with a batch pool."""

from __future__ import annotations

from typing import Any

from jostle.campaign import Campaign
from jostle.composition.compose import campaign_of
from jostle.composition.recipe import Chosen, Recipe
from jostle.options.schema import Given
from jostle.records import Seeds
from jostle.subjects.subject import Subject

FRESH = 0.5  # beyond the paper: half of the mutants come from seeds, which alone can still be moved


def _choices(given: Given) -> Chosen:
    several = len(given.get("coverage", ())) > 1
    return {
        "mutator": ("metamorphic",),
        "coverage": ("kmnc",),
        "scheduler": "adaptive" if several else "pool",
        "fresh": FRESH,
    }


DEEPHUNTER = Recipe(
    "deephunter",
    "Image transformations that keep the meaning, guided by neuron coverage; finds labels that change.",
    _choices,
)


def deephunter(subject: Subject, seeds: Seeds, **options: Any) -> Campaign:
    """Image transformations, guided by neuron criteria, on a batch pool."""
    return campaign_of(DEEPHUNTER, subject, seeds, options)
