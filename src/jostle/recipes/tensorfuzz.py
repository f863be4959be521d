"""TensorFuzz (Odena, Olsson, Andersen, Goodfellow): noise, guided by nearest neighbours on activations."""

from __future__ import annotations

from jostle.config import Settings
from jostle.recipes.catalogue import Parts, criterion, noise, scheduler


def tensorfuzz(settings: Settings, novelty_layers: list[str]) -> Parts:
    """Noise on the newest entries; keeps what lies far from all activations seen before."""
    return Parts(
        mutator=noise(settings),
        feedback=criterion(settings, settings.coverage or "nearest", novelty_layers),
        scheduler=scheduler(settings, settings.scheduler or "recent"),
    )
