"""TensorFuzz (Odena, Olsson, Andersen, Goodfellow): noise, guided by nearest neighbours on activations."""

from __future__ import annotations

from typing import Any

from jostle.campaign import Campaign
from jostle.composition.compose import campaign_of
from jostle.composition.recipe import Chosen, Recipe
from jostle.options.schema import Given
from jostle.records import Seeds
from jostle.subjects.subject import Subject


def _choices(given: Given) -> Chosen:
    # As in TensorFuzz's own examples: how large the logits are when only NaNs are hunted, else the logits.
    only_nan = set(given.get("oracle", ())) <= {"nan", "crash"} and given.get("distance") != "cosine"
    return {
        "mutator": ("noise",),
        "coverage": ("magnitude",) if only_nan else ("nearest",),
        "scheduler": "recent",
    }


TENSORFUZZ = Recipe(
    "tensorfuzz", "Noise on the newest entries; keeps what lies far from all activations seen before.", _choices
)


def tensorfuzz(subject: Subject, seeds: Seeds, **options: Any) -> Campaign:
    """Noise on the newest entries, guided by nearest neighbours."""
    return campaign_of(TENSORFUZZ, subject, seeds, options)
