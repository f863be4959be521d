"""The baseline: the same mutations without guidance."""

from __future__ import annotations

from jostle.config import Settings
from jostle.errors import UsageError
from jostle.feedback.nothing import NothingNew
from jostle.recipes.catalogue import Parts, noise
from jostle.schedulers.uniform import Uniform


def unguided(settings: Settings, novelty_layers: list[str]) -> Parts:
    """Noise on the seeds, nothing kept: the baseline that guidance must beat."""
    if settings.coverage or settings.scheduler:
        raise UsageError("--recipe random has no --coverage and no --scheduler: use --recipe tensorfuzz for them")
    return Parts(mutator=noise(settings), feedback=NothingNew(), scheduler=Uniform())
