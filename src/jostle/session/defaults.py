"""Defaults that depend on other settings or on the model, and settings that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from jostle.config import Settings
from jostle.errors import UsageError
from jostle.named_objects import names_object
from jostle.recipes.deephunter import deephunter
from jostle.recipes.deepxplore import deepxplore
from jostle.recipes.dlfuzz import dlfuzz
from jostle.recipes.random import unguided
from jostle.recipes.tensorfuzz import tensorfuzz

NOISE_SHARE = 0.1  # of the value range: TensorFuzz's σ of 0.2 on values from -1 to 1
FLIP_SHARE = 0.1  # of the value range: farther from its root, a mutant may rightly have another label
# Of gradient ascent where a recipe leaves them open: DLFuzz's (§4.1), but for λ, which the paper leaves open.
ITERATIONS, LIMIT, REACH, NEURONS, BALANCE = 3, 0.02, 0.3, 10, 0.25
UNSET = Settings(model="", seeds="")


@dataclass(frozen=True)
class Recipe:
    """Names the parts of a fuzzer where the user left the choice open, and what it hunts in a classifier."""

    choices: Callable[[Settings], Settings]
    hunts: tuple[str, ...] = ("nan",)
    shrinks: bool = False  # its changes are meant to be small: findings must survive saving, and are minimised


RECIPES: Mapping[str, Recipe] = {
    "tensorfuzz": Recipe(tensorfuzz),
    "deephunter": Recipe(deephunter, hunts=("flip", "nan")),
    "dlfuzz": Recipe(dlfuzz, hunts=("flip", "nan"), shrinks=True),
    "deepxplore": Recipe(deepxplore, hunts=("differ", "nan"), shrinks=True),
    "random": Recipe(unguided),
}
# Settings that do something only beside a part of one of these names.
NEEDS: Sequence[tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]] = (
    (("sigma", "radius"), {"mutator": ("noise",)}),
    (("alpha", "tries", "transforms"), {"mutator": ("metamorphic",)}),
    (("beta",), {"mutator": ("metamorphic",), "scheduler": ("pool",)}),
    (("strategy", "neurons", "balance", "others", "perturbation", "reach"), {"mutator": ("gradient",)}),
    (("iterations", "limit"), {"mutator": ("gradient",), "scheduler": ("list",)}),
    (("desired", "rounds", "depth"), {"scheduler": ("list",)}),
    (("models",), {"oracle": ("differ",)}),
    (("threshold", "distance"), {"coverage": ("nearest", "magnitude")}),
    (("profile", "sections"), {"coverage": ("kmnc", "nbc", "snac")}),
    (("buckets",), {"coverage": ("nbc", "snac")}),
    (("top",), {"coverage": ("tknc", "bknc")}),
    (("active",), {"coverage": ("nc",), "mutator": ("gradient",)}),
    (("levels",), {"coverage": ("nc",)}),
    (("newest",), {"scheduler": ("recent",)}),
    (("recency",), {"scheduler": ("smooth",)}),
    (("sample",), {"scheduler": ("pool",)}),
    (("gamma", "p_min"), {"scheduler": ("pool", "seldom", "adaptive")}),
)


def settled(settings: Settings, classes: bool, images: bool = False) -> Settings:
    """The settings with nothing left open, for a model that gives class scores or not, and seeds that are 8-bit images.

    Seeds are such images if a file could hold them just as they are.
    """
    recipe = RECIPES[settings.recipe]
    span = settings.range[1] - settings.range[0]
    hunted = tuple(name for name in recipe.hunts if classes or name not in ("flip", "differ"))
    oracle = settings.oracle or (*hunted, *(("agree",) if settings.twin else ()))
    oracle = oracle if "crash" in oracle else (*oracle, "crash")  # an exception is always a defect
    chosen = recipe.choices(replace(settings, oracle=oracle))
    _refuse_idle(settings, chosen)
    noisy = "noise" in chosen.mutator
    flip_radius = FLIP_SHARE * span if noisy and "flip" in oracle else None
    return replace(
        _ascending(chosen),
        agree=settings.agree or ("argmax" if classes else "1e-5") if settings.twin else None,
        sigma=NOISE_SHARE * span if noisy and settings.sigma is None else settings.sigma,
        radius=flip_radius if settings.radius is None else settings.radius,
        as_images=images and recipe.shrinks if settings.as_images is None else settings.as_images,
        minimise=recipe.shrinks if settings.minimise is None else settings.minimise,
    )


def _ascending(chosen: Settings) -> Settings:
    """The settings with those of gradient ascent and of the seed list, where they are there."""
    listed = replace(
        chosen,
        iterations=chosen.iterations or ITERATIONS,
        limit=LIMIT if chosen.limit is None else chosen.limit,
    )
    if "gradient" not in chosen.mutator:
        return listed if chosen.scheduler == "list" else chosen
    return replace(
        listed,
        perturbation=chosen.perturbation or "gradient",
        strategy=chosen.strategy or ("frequent",),
        neurons=NEURONS if chosen.neurons is None else chosen.neurons,
        balance=BALANCE if chosen.balance is None else chosen.balance,
        reach=REACH if chosen.reach is None else chosen.reach,
    )


def _refuse_idle(given: Settings, chosen: Settings) -> None:
    """A setting of a part that is not there would do nothing."""
    for settings, needs in NEEDS:
        there = any(set(names) & set(_named(chosen, kind)) for kind, names in needs.items())
        if not there and _given(given, *settings):
            flag = _given(given, *settings)[0]
            if given.recipe == "random" and "mutator" not in needs:
                raise UsageError(f"--recipe random is unguided: leave out {flag}")
            parts = (f"--{kind} {' or '.join(names)}" for kind, names in needs.items())
            raise UsageError(f"{flag} needs {' or '.join(parts)}")


def _named(settings: Settings, kind: str) -> tuple[str, ...]:
    value = getattr(settings, kind)
    return value if isinstance(value, tuple) else (value,)


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
        (
            "differ" in settings.oracle and not settings.models,
            "--oracle differ compares models of one task: name the others with --models",
        ),
        (
            settings.recipe == "deepxplore" and not settings.models,
            "--recipe deepxplore compares models of one task: name the others with --models, or use --recipe dlfuzz, "
            "which needs one model",
        ),
        (
            settings.models and settings.twin,
            "--models and --twin: compare with several models or with a twin, not both",
        ),
        (
            settings.models and settings.others != UNSET.others,
            "--others is of the goal for one model: leave it out beside --models",
        ),
        (
            settings.neurons == 0 and settings.strategy,
            "--strategy chooses neurons, and --neurons 0 are none: leave it out",
        ),
        (len(set(settings.mutator)) < len(settings.mutator), "--mutator names a mutator twice: name each once"),
        (len(set(settings.coverage)) < len(settings.coverage), "--coverage names a criterion twice: name each once"),
    ):
        if contradiction:
            raise UsageError(fix)


def _given(settings: Settings, *names: str) -> list[str]:
    """The flags among these that differ from their defaults."""
    return [f"--{name.replace('_', '-')}" for name in names if getattr(settings, name) != getattr(UNSET, name)]
