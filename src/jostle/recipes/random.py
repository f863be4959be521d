"""The baseline: the same mutations without guidance."""

from __future__ import annotations

from dataclasses import replace

from jostle.config import Settings


def unguided(settings: Settings) -> Settings:
    """Noise on the seeds, nothing kept: the baseline that guidance must beat."""
    return replace(settings, mutator=settings.mutator or ("noise",), coverage=(), scheduler="uniform")
