"""TensorFuzz (Odena, Olsson, Andersen, Goodfellow): noise, guided by nearest neighbours on activations."""

from __future__ import annotations

from jostle.config import Settings
from jostle.recipes.catalogue import Parts, criterion, noise, scheduler


def tensorfuzz(settings: Settings, novelty_layers: list[str]) -> Parts:
    """Noise on the newest entries; keeps what lies far from all activations seen before."""
    return Parts(
        mutator=noise(settings),
        feedback=criterion(settings, settings.coverage or usual_coverage(settings), novelty_layers),
        scheduler=scheduler(settings, settings.scheduler or "recent"),
    )


def usual_coverage(settings: Settings) -> str:
    """As in TensorFuzz's own examples: how large the logits are when only NaNs are hunted, else the logits."""
    only_nan = set(settings.oracle or ("nan",)) <= {"nan", "crash"} and settings.twin is None
    return "magnitude" if only_nan else "nearest"
