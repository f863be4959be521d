"""DLFuzz (Guo, Jiang, Zhao, Chen, Sun): joint gradient ascent on one model, guided by neuron coverage."""

from __future__ import annotations

from dataclasses import replace

from jostle.config import Settings

ACTIVE = 0.25  # scaled activation that counts as active, as in DLFuzz's own runs
LEVELS = 100  # on the way there, fine enough that the small steps of seeds can gain


def dlfuzz(settings: Settings) -> Settings:
    """Gradients that change the label and activate neurons, by small changes; finds labels that change."""
    return replace(
        settings,
        mutator=settings.mutator or ("gradient",),
        coverage=settings.coverage or ("nc",),
        scheduler=settings.scheduler or "list",
        active=ACTIVE if settings.active is None else settings.active,
        levels=settings.levels or LEVELS,
    )
