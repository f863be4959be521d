"""Defaults that depend on other settings or on the model, and settings that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from jostle.config import Settings
from jostle.errors import UsageError
from jostle.named_objects import names_object
from jostle.recipes.deephunter import deephunter
from jostle.recipes.tensorfuzz import tensorfuzz
from jostle.recipes.unguided import unguided

NOISE_SHARE = 0.1  # of the value range: TensorFuzz's σ of 0.2 on values from -1 to 1
FLIP_SHARE = 0.1  # of the value range: farther from its root, a mutant may rightly have another label
UNSET = Settings(model="", seeds="")


@dataclass(frozen=True)
class Recipe:
    """Names the parts of a fuzzer where the user left the choice open, and what it hunts in a classifier."""

    choices: Callable[[Settings], Settings]
    hunts: tuple[str, ...] = ("nan",)


RECIPES: Mapping[str, Recipe] = {
    "tensorfuzz": Recipe(tensorfuzz),
    "deephunter": Recipe(deephunter, hunts=("flip", "nan")),
    "random": Recipe(unguided),
}
# Settings that do something only beside a part of one of these names.
NEEDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("sigma", "radius"), ("mutator", ("noise",))),
    **dict.fromkeys(("alpha", "tries", "transforms"), ("mutator", ("metamorphic",))),
    **dict.fromkeys(("threshold", "distance"), ("coverage", ("nearest", "magnitude"))),
    **dict.fromkeys(("profile", "sections"), ("coverage", ("kmnc", "nbc", "snac"))),
    "buckets": ("coverage", ("nbc", "snac")),
    "top": ("coverage", ("tknc", "bknc")),
    "active": ("coverage", ("nc",)),
    "newest": ("scheduler", ("recent",)),
    "recency": ("scheduler", ("smooth",)),
    "sample": ("scheduler", ("pool",)),
    **dict.fromkeys(("gamma", "p_min"), ("scheduler", ("pool", "seldom", "adaptive"))),
}


def settled(settings: Settings, classes: bool) -> Settings:
    """The settings with nothing left open; `classes` tells whether the model gives class scores."""
    recipe = RECIPES[settings.recipe]
    span = settings.range[1] - settings.range[0]
    hunted = tuple(name for name in recipe.hunts if classes or name != "flip")
    oracle = settings.oracle or (*hunted, *(("agree",) if settings.twin else ()))
    oracle = oracle if "crash" in oracle else (*oracle, "crash")  # an exception is always a defect
    chosen = recipe.choices(replace(settings, oracle=oracle))
    _refuse_idle(settings, chosen)
    noisy = chosen.mutator == "noise"
    flip_radius = FLIP_SHARE * span if noisy and "flip" in oracle else None
    return replace(
        chosen,
        agree=settings.agree or ("argmax" if classes else "1e-5") if settings.twin else None,
        sigma=NOISE_SHARE * span if noisy and settings.sigma is None else settings.sigma,
        radius=flip_radius if settings.radius is None else settings.radius,
    )


def _refuse_idle(given: Settings, chosen: Settings) -> None:
    """A setting of a part that is not there would do nothing."""
    for setting, (kind, names) in NEEDS.items():
        value = getattr(chosen, kind)
        there = set(names) & set(value if isinstance(value, tuple) else (value,))
        if not there and _given(given, setting):
            flag = _given(given, setting)[0]
            if given.recipe == "random" and kind != "mutator":
                raise UsageError(f"--recipe random is unguided: leave out {flag}")
            raise UsageError(f"{flag} needs --{kind} {' or '.join(names)}")
    if _given(given, "beta") and chosen.mutator != "metamorphic" and chosen.scheduler != "pool":
        raise UsageError("--beta needs --mutator metamorphic or --scheduler pool")


def refuse_contradictions(settings: Settings) -> None:
    """A setting that would do nothing is refused, with what would make it do something."""
    compares = "agree" in settings.oracle or any(names_object(name) for name in settings.oracle)
    guidance = _given(settings, "coverage", "scheduler", "fresh")
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
        (
            settings.distance == "cosine" and "magnitude" in settings.coverage,
            "--distance cosine forgets magnitudes: use --coverage nearest with it",
        ),
        (settings.recipe == "random" and guidance, f"--recipe random is unguided: leave out {' and '.join(guidance)}"),
        (len(set(settings.coverage)) < len(settings.coverage), "--coverage names a criterion twice: name each once"),
    ):
        if contradiction:
            raise UsageError(fix)


def _given(settings: Settings, *names: str) -> list[str]:
    """The flags among these that differ from their defaults."""
    return [f"--{name.replace('_', '-')}" for name in names if getattr(settings, name) != getattr(UNSET, name)]
