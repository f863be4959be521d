"""Every part by the name a user types, with how settings make it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

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

Made = TypeVar("Made")


@dataclass(frozen=True)
class Named(Generic[Made]):
    """A part that a user can name: what it is, told by the first line of its docstring, and how it is made."""

    part: object
    make: Callable[[Settings], Made]


@dataclass(frozen=True)
class Parts:
    """What a recipe chooses."""

    mutator: Mutator
    feedback: Feedback
    scheduler: Scheduler


def noise(settings: Settings) -> Noise:
    assert settings.sigma is not None, "settled before"
    return Noise(settings.sigma, *settings.range, settings.radius)


MUTATORS: Mapping[str, Named[Mutator]] = {"noise": Named(Noise, noise)}
SCHEDULERS: Mapping[str, Named[Scheduler]] = {
    "uniform": Named(Uniform, lambda settings: Uniform()),
    "recent": Named(NewestFew, lambda settings: NewestFew(settings.newest)),
    "smooth": Named(SmoothRecency, lambda settings: SmoothRecency(settings.recency)),
}
ORACLES: Mapping[str, Named[Oracle]] = {
    "nan": Named(Finite, lambda settings: Finite()),
    "crash": Named(NoCrash, lambda settings: NoCrash()),
    "flip": Named(LabelKept, lambda settings: LabelKept()),
    "agree": Named(Agreement, lambda settings: Agreement(comparison_named(settings.agree or "argmax"))),
}
UNITS: Mapping[str, Reduction] = {"channels": channel_means, "every": every_unit}
DISTANCES = ("euclidean", "cosine")


def chosen(option: str, name: str, names: Iterable[str]) -> str:
    """The name, if it is one of these."""
    names = list(names)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"
        raise UsageError(f"{option} {name!r} is unknown: {hint}")
    return name


def criterion(settings: Settings, name: str, novelty_layers: list[str]) -> Feedback:
    chosen("--coverage", name, EMBEDDINGS)
    cosine = chosen("--distance", settings.distance, DISTANCES) == "cosine"
    return FarFromSeen(novelty_layers, settings.threshold, cosine, name)


def scheduler(settings: Settings, name: str) -> Scheduler:
    return SCHEDULERS[chosen("--scheduler", name, SCHEDULERS)].make(settings)


def oracles(settings: Settings, classes: bool) -> list[Oracle]:
    if "flip" in settings.oracle and not classes:
        raise UsageError("--oracle flip needs a model that gives class scores [batch, classes]: use nan or a property")
    return [_oracle(settings, name) for name in settings.oracle]


def _oracle(settings: Settings, name: str) -> Oracle:
    if not names_object(name):
        return ORACLES[chosen("--oracle", name, [*ORACLES, "FILE.py:function"])].make(settings)
    function = find_object(name)
    if not callable(function):
        raise UsageError(f"--oracle {name} is not a function")
    return Property(name, function)
