"""Defaults that depend on other settings or on the model, and settings that contradict each other."""

from __future__ import annotations

from dataclasses import replace

from jostle.config import Settings
from jostle.errors import UsageError
from jostle.named_objects import names_object

NOISE_SHARE = 0.1  # of the value range: TensorFuzz's σ of 0.2 on values from -1 to 1
FLIP_SHARE = 0.1  # of the value range: farther from its root, a mutant may rightly have another label
UNSET = Settings(model="", seeds="")


def settled(settings: Settings, classes: bool) -> Settings:
    """The settings with nothing left open; `classes` tells whether the model gives class scores."""
    span = settings.range[1] - settings.range[0]
    oracle = settings.oracle or ("nan", *(("agree",) if settings.twin else ()))
    oracle = oracle if "crash" in oracle else (*oracle, "crash")  # an exception is always a defect
    flip_radius = FLIP_SHARE * span if "flip" in oracle else None
    return replace(
        settings,
        oracle=oracle,
        agree=settings.agree or ("argmax" if classes else "1e-5") if settings.twin else None,
        sigma=NOISE_SHARE * span if settings.sigma is None else settings.sigma,
        radius=flip_radius if settings.radius is None else settings.radius,
    )


def refuse_contradictions(settings: Settings) -> None:
    """A setting that would do nothing is refused, with what would make it do something."""
    compares = "agree" in settings.oracle or any(names_object(name) for name in settings.oracle)
    guidance = _given(settings, "coverage", "scheduler", "threshold", "distance", "newest", "recency")
    for contradiction, fix in (
        (settings.agree and not settings.twin, "--agree says when twins agree: name the second model with --twin"),
        (
            "agree" in settings.oracle and not settings.twin,
            "--oracle agree compares two models: name the second with --twin",
        ),
        (
            settings.twin and settings.oracle and not compares,
            "--twin is compared by --oracle agree: add agree, or leave out --twin",
        ),
        (settings.gradients and not settings.metadata, "--gradients needs --metadata, whose values it differentiates"),
        (_given(settings, "recency") and settings.scheduler != "smooth", "--recency needs --scheduler smooth"),
        (
            _given(settings, "newest") and settings.scheduler not in (None, "recent"),
            "--newest needs --scheduler recent",
        ),
        (
            settings.distance == "cosine" and settings.coverage == "magnitude",
            "--distance cosine forgets magnitudes: use --coverage nearest with it",
        ),
        (settings.recipe == "random" and guidance, f"--recipe random is unguided: leave out {' and '.join(guidance)}"),
    ):
        if contradiction:
            raise UsageError(fix)


def _given(settings: Settings, *names: str) -> list[str]:
    """The flags among these that differ from their defaults."""
    return [f"--{name}" for name in names if getattr(settings, name) != getattr(UNSET, name)]
