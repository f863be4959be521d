"""TensorFuzz (Odena, Olsson, Andersen, Goodfellow): noise, guided by nearest neighbours on activations."""

from __future__ import annotations

from dataclasses import replace

from jostle.config import Settings
from jostle.recipes.catalogue import Parts, criterion, noise, scheduler


def tensorfuzz(settings: Settings, novelty_layers: list[str]) -> Parts:
    """Noise on the newest entries; keeps what lies far from all activations seen before."""
    assert settings.coverage and settings.scheduler, "settled before"
    return Parts(
        mutator=noise(settings),
        feedback=criterion(settings, settings.coverage, novelty_layers),
        scheduler=scheduler(settings, settings.scheduler),
    )


def tensorfuzz_defaults(settings: Settings) -> Settings:
    """As in TensorFuzz's own examples: how large the logits are when only NaNs are hunted, else the logits."""
    only_nan = set(settings.oracle) <= {"nan", "crash"} and settings.distance == "euclidean"
    return replace(
        settings,
        coverage=settings.coverage or ("magnitude" if only_nan else "nearest"),
        scheduler=settings.scheduler or "recent",
    )
