"""The baseline: the same mutations without guidance."""

from __future__ import annotations

from typing import Any

from jostle.campaign import Campaign
from jostle.composition.compose import campaign_of
from jostle.composition.recipe import Chosen, Recipe
from jostle.options.schema import Given
from jostle.records import Seeds
from jostle.subjects.subject import Subject


def _choices(given: Given) -> Chosen:
    return {"mutator": ("noise",), "coverage": (), "scheduler": "uniform"}


RANDOM = Recipe("random", "Noise on the seeds, nothing kept: the baseline that guidance must beat.", _choices)


def random(subject: Subject, seeds: Seeds, **options: Any) -> Campaign:
    """Noise on the seeds without guidance."""
    return campaign_of(RANDOM, subject, seeds, options)
