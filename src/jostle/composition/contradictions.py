"""Options that contradict each other are refused, with what would make them go together."""

from __future__ import annotations

from collections.abc import Iterator

from jostle.errors import UsageError
from jostle.named_objects import names_object
from jostle.options.declaration import flag_of
from jostle.options.schema import Given
from jostle.triage.gate import GateOptions, refuse_unknown_kinds


def refuse_contradictions(given: Given) -> None:
    """The first contradiction is told."""
    refuse_unknown_kinds(given.of(GateOptions), given.get("oracle", ()))
    for contradiction, fix in (
        *_twins(given),
        *_panels(given),
        *_watched_layers(given),
        *_guidance(given),
        *_inputs(given),
    ):
        if contradiction:
            raise UsageError(fix)


def _twins(given: Given) -> Iterator[tuple[bool, str]]:
    oracle, twin = given.get("oracle", ()), "twin" in given
    compares = "agree" in oracle or any(map(names_object, oracle))
    yield "agree" in given and not twin, "--agree says when twins agree: name the second model with --twin"
    several = [name for name in given.get("agree", "").split(",") if name.startswith("top") and name != "top1"]
    yield (
        "margin" in given and bool(several),
        f"--margin is of the best class alone, and --agree {''.join(several[:1])} compares several: leave it out",
    )
    yield "agree" in oracle and not twin, "--oracle agree compares two models: name the second with --twin"
    yield (
        twin and bool(oracle) and not compares,
        "--twin is compared by --oracle agree: add agree, or leave out --twin",
    )
    yield (
        "gap" in given.get("coverage", ()) and not twin,
        "--coverage gap measures how near twins come to disagreeing: name the second model with --twin",
    )
    disagree = given.get("goal") == "disagree"
    yield disagree and not twin, "--goal disagree heads for where twins differ: name the second model with --twin"
    for name in ("others", "neurons", "strategy", "balance") if disagree else ():
        yield name in given, f"{flag_of(name)} is of --goal label: leave it out beside --goal disagree"
    yield (
        bool(given.get("gradients")) and "metadata" not in given,
        "--gradients needs --metadata, whose values it differentiates",
    )


def _watched_layers(given: Given) -> Iterator[tuple[bool, str]]:
    yield (
        "layers" in given and "counted" in given,
        "--layers names whose neurons count: leave out --counted, which chooses among all layers",
    )


def _panels(given: Given) -> Iterator[tuple[bool, str]]:
    models = "models" in given
    yield (
        "differ" in given.get("oracle", ()) and not models,
        "--oracle differ compares models of one task: name the others with --models",
    )
    yield (
        given.get("recipe") == "deepxplore" and not models,
        "--recipe deepxplore compares models of one task: name the others with --models, or use --recipe dlfuzz, "
        "which needs one model",
    )
    yield models and "twin" in given, "--models and --twin: compare with several models or with a twin, not both"
    yield models and "others" in given, "--others is of the goal for one model: leave it out beside --models"


def _guidance(given: Given) -> Iterator[tuple[bool, str]]:
    guidance = [flag_of(name) for name in ("coverage", "scheduler", "fresh") if name in given]
    yield (
        given.get("recipe") == "random" and bool(guidance),
        f"--recipe random is unguided: leave out {' and '.join(guidance)}",
    )
    yield (
        given.get("distance") == "cosine" and "magnitude" in given.get("coverage", ()),
        "--distance cosine forgets magnitudes: use --coverage nearest with it",
    )
    yield (
        given.get("neurons") == 0 and "strategy" in given,
        "--strategy chooses neurons, and --neurons 0 are none: leave it out",
    )


def _inputs(given: Given) -> Iterator[tuple[bool, str]]:
    yield (
        "domain" in given and "range" in given,
        "--domain and --range both say what inputs may hold: write low and high into the file, and leave out --range",
    )
