"""DeepHunter (Xie et al.): metamorphic mutation of images, guided by neuron criteria, with a batch pool."""

from __future__ import annotations

from dataclasses import replace

from jostle.config import Settings

FRESH = 0.5  # beyond the paper: half of the mutants come from seeds, which alone can still be moved


def deephunter(settings: Settings) -> Settings:
    """Image transformations that keep the meaning, guided by neuron coverage; finds labels that change."""
    return replace(
        settings,
        mutator=settings.mutator or ("metamorphic",),
        coverage=settings.coverage or ("kmnc",),
        scheduler=settings.scheduler or ("adaptive" if len(settings.coverage) > 1 else "pool"),
        fresh=FRESH if settings.fresh is None else settings.fresh,
    )
