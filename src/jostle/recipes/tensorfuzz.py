"""TensorFuzz (Odena, Olsson, Andersen, Goodfellow): noise, guided by nearest neighbours on activations."""

from __future__ import annotations

from dataclasses import replace

from jostle.config import Settings


def tensorfuzz(settings: Settings) -> Settings:
    """Noise on the newest entries; keeps what lies far from all activations seen before."""
    # As in TensorFuzz's own examples: how large the logits are when only NaNs are hunted, else the logits.
    only_nan = set(settings.oracle) <= {"nan", "crash"} and settings.distance == "euclidean"
    return replace(
        settings,
        mutator=settings.mutator or ("noise",),
        coverage=settings.coverage or (("magnitude",) if only_nan else ("nearest",)),
        scheduler=settings.scheduler or "recent",
    )
