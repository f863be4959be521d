"""Every part by the name a user types, with the one place that builds it from settings."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from jostle.config import Settings
from jostle.errors import UsageError
from jostle.feedback.nearest import EMBEDDINGS, FarFromSeen
from jostle.interfaces import Feedback, Mutator, Oracle, Scheduler
from jostle.mutators.noise import Noise
from jostle.named_objects import find_object, names_object
from jostle.oracles.agreement import Agreement, comparison_named
from jostle.oracles.crash import NoCrash
from jostle.oracles.labels import LabelKept
from jostle.oracles.numeric import Finite
from jostle.oracles.properties import Property
from jostle.schedulers.recent import NewestFew, SmoothRecency
from jostle.schedulers.uniform import Uniform
from jostle.targets.probes import Reduction, channel_means, every_unit

Value = TypeVar("Value")


@dataclass(frozen=True)
class Parts:
    """What a recipe chooses."""

    mutator: Mutator
    feedback: Feedback
    scheduler: Scheduler


MUTATORS: Mapping[str, type] = {"noise": Noise}
CRITERIA = EMBEDDINGS
SCHEDULERS: Mapping[str, type] = {"uniform": Uniform, "recent": NewestFew, "smooth": SmoothRecency}
ORACLES: Mapping[str, type] = {"nan": Finite, "crash": NoCrash, "flip": LabelKept, "agree": Agreement}
UNITS: Mapping[str, Reduction] = {"channels": channel_means, "every": every_unit}
DISTANCES = ("euclidean", "cosine")
NOISE_SHARE = 0.1  # of the value range: TensorFuzz's σ of 0.2 on values from -1 to 1


def chosen(option: str, name: str, names: Iterable[str]) -> str:
    """The name, if it is one of these."""
    names = list(names)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"
        raise UsageError(f"{option} {name!r} is unknown: {hint}")
    return name


def noise(settings: Settings) -> Noise:
    low, high = settings.range
    sigma = NOISE_SHARE * (high - low) if settings.sigma is None else settings.sigma
    return Noise(sigma, low, high, settings.radius)


def criterion(settings: Settings, name: str, novelty_layers: list[str]) -> Feedback:
    chosen("--coverage", name, CRITERIA)
    cosine = chosen("--distance", settings.distance, DISTANCES) == "cosine"
    return FarFromSeen(novelty_layers, settings.threshold, cosine, name)


def scheduler(settings: Settings, name: str) -> Scheduler:
    schedulers: Mapping[str, Scheduler] = {
        "uniform": Uniform(),
        "recent": NewestFew(settings.newest),
        "smooth": SmoothRecency(settings.recency),
    }
    return schedulers[chosen("--scheduler", name, SCHEDULERS)]


def oracles(settings: Settings, classes: bool) -> list[Oracle]:
    """The oracles asked for; without any, those that can apply to this model."""
    if settings.agree and settings.twin is None:
        raise UsageError("--agree says when twins agree: name the second model with --twin")
    names = settings.oracle or _usual_oracles(settings)
    return [_oracle(settings, name, classes) for name in names]


def _usual_oracles(settings: Settings) -> tuple[str, ...]:
    return ("nan", "crash", *(("agree",) if settings.twin else ()))


def _oracle(settings: Settings, name: str, classes: bool) -> Oracle:
    if names_object(name):
        return _property(name)
    makers: Mapping[str, Callable[[], Oracle]] = {
        "nan": Finite,
        "crash": NoCrash,
        "flip": LabelKept,
        "agree": lambda: Agreement(comparison_named(settings.agree or ("argmax" if classes else "1e-5"))),
    }
    chosen("--oracle", name, [*ORACLES, "FILE.py:function"])
    if name == "agree" and settings.twin is None:
        raise UsageError("--oracle agree compares two models: name the second with --twin")
    if name == "flip" and not classes:
        raise UsageError("--oracle flip needs a model that gives class scores [batch, classes]: use nan or a property")
    return makers[name]()


def _property(name: str) -> Property:
    function = find_object(name)
    if not callable(function):
        raise UsageError(f"--oracle {name} is not a function")
    return Property(name, function)
