"""The baseline: the same mutations without guidance."""

from __future__ import annotations

from jostle.config import Settings
from jostle.feedback.nothing import NothingNew
from jostle.recipes.catalogue import Parts, noise
from jostle.schedulers.uniform import Uniform


def unguided(settings: Settings, novelty_layers: list[str]) -> Parts:
    """Noise on the seeds, nothing kept: the baseline that guidance must beat."""
    return Parts(mutator=noise(settings), feedback=NothingNew(), scheduler=Uniform())
