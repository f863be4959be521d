"""DLFuzz (Guo, Jiang, Zhao, Chen, Sun): joint gradient ascent on one model, guided by neuron coverage."""

from __future__ import annotations

from typing import Any

from jostle.campaign import Campaign
from jostle.composition.compose import campaign_of
from jostle.composition.recipe import Chosen, Recipe
from jostle.options.schema import Given
from jostle.records import Seeds
from jostle.subjects.subject import Subject

ACTIVE = 0.25  # scaled activation that counts as active, as in DLFuzz's own runs
LEVELS = 100  # on the way there, fine enough that the small steps of seeds can gain


def choices(given: Given) -> Chosen:
    """Gradients that activate neurons, on a list of seeds that grows."""
    return {
        "mutator": ("gradient",),
        "coverage": ("nc",),
        "scheduler": "list",
        "active": ACTIVE,
        "levels": LEVELS,
    }


DLFUZZ = Recipe(
    "dlfuzz",
    "Gradients that change the label and activate neurons, by small changes; finds labels that change.",
    choices,
    shrinks=True,
)


def dlfuzz(subject: Subject, seeds: Seeds, **options: Any) -> Campaign:
    """Joint gradient ascent on a list of seeds that grows."""
    return campaign_of(DLFUZZ, subject, seeds, options)
