"""Every part by the name a user types, with how settings make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from jostle.config import Settings
from jostle.errors import UsageError
from jostle.feedback.criteria import ActiveNeurons, Boundaries, Criterion, Ranked, Sections
from jostle.feedback.nearest import EMBEDDINGS, FarFromSeen
from jostle.feedback.neurons import NeuronCoverage
from jostle.interfaces import Feedback, Mutator, Oracle, Scheduler
from jostle.mutators.ascent import Ascent
from jostle.mutators.metamorphic import Metamorphic
from jostle.mutators.mixed import Costed, Mixed
from jostle.mutators.noise import Noise
from jostle.mutators.transform_ranges import transforms_named
from jostle.named_objects import find_object, names_object
from jostle.options.choices import chosen
from jostle.oracles.agreement import Agreement, comparison_named
from jostle.oracles.crash import NoCrash
from jostle.oracles.labels import LabelKept
from jostle.oracles.numeric import Finite
from jostle.oracles.properties import Property
from jostle.oracles.unanimity import Unanimous
from jostle.profile import Layers, Profile
from jostle.schedulers.adaptive import WhereGainsCome
from jostle.schedulers.batch_pool import BatchPool
from jostle.schedulers.least_fuzzed import Priority, SeldomFuzzed
from jostle.schedulers.recent import NewestFew, SmoothRecency
from jostle.schedulers.seed_list import SeedList
from jostle.schedulers.uniform import Uniform
from jostle.schedulers.with_seeds import WithSeeds
from jostle.session.gradient_ascent import Means, ascent
from jostle.targets.probes import Reduction, channel_means, every_unit

ACTIVE = 0.75  # scaled activation that counts as active
LEVELS = 10  # on the way there
Made = TypeVar("Made")


@dataclass(frozen=True)
class Named(Generic[Made]):
    """A part that a user can name: what it is, told by the first line of its docstring, and how it is made."""

    part: object
    make: Callable[[Settings], Made]


@dataclass(frozen=True)
class NamedMutator:
    """A mutator that a user can name: what it is, how it is made, and what a mutant costs in passes of the model."""

    part: object
    make: Callable[[Settings, Means], Mutator]
    cost: float


@dataclass(frozen=True)
class Counting:
    """A neuron criterion that counts neurons of layers: what it is in a line, and how it is made."""

    line: str
    make: Callable[[Settings, Layers], Criterion]


@dataclass(frozen=True)
class Ranging:
    """A neuron criterion that measures against the ranges of a profile: what it is in a line, and how it is made."""

    line: str
    make: Callable[[Settings, Profile], Criterion]


@dataclass(frozen=True)
class Guides:
    """What criteria are made from besides settings."""

    novelty_layers: Sequence[str]
    profile: Profile | None


def _noise(settings: Settings, means: Means) -> Noise:
    assert settings.sigma is not None, "settled before"
    return Noise(settings.sigma, *settings.range, settings.radius)


def _metamorphic(settings: Settings, means: Means) -> Metamorphic:
    transforms = transforms_named(settings.transforms)
    return Metamorphic(*settings.range, settings.alpha, settings.beta, settings.tries, transforms)


def _ascent(settings: Settings, means: Means) -> Ascent:
    return ascent(settings, means, _threshold(settings))


def _threshold(settings: Settings) -> float:
    return ACTIVE if settings.active is None else settings.active


def _list(settings: Settings) -> SeedList:
    return SeedList(settings.iterations or 1, settings.limit or 0.0, settings.desired, settings.rounds, settings.depth)


def _pool(settings: Settings) -> BatchPool:
    span = settings.range[1] - settings.range[0]
    return BatchPool(span, settings.beta, settings.sample, _priority(settings))


def _priority(settings: Settings) -> Priority:
    return Priority(settings.gamma, settings.p_min)


MUTATORS: Mapping[str, NamedMutator] = {
    "noise": NamedMutator(Noise, _noise, cost=1),
    "metamorphic": NamedMutator(Metamorphic, _metamorphic, cost=1),
    "gradient": NamedMutator(Ascent, _ascent, cost=4),  # forward and backward at one point, forward at the next
}
SCHEDULERS: Mapping[str, Named[Scheduler]] = {
    "uniform": Named(Uniform, lambda settings: Uniform()),
    "recent": Named(NewestFew, lambda settings: NewestFew(settings.newest)),
    "smooth": Named(SmoothRecency, lambda settings: SmoothRecency(settings.recency)),
    "pool": Named(BatchPool, _pool),
    "seldom": Named(SeldomFuzzed, lambda settings: SeldomFuzzed(_priority(settings))),
    "list": Named(SeedList, _list),
    "adaptive": Named(WhereGainsCome, lambda settings: WhereGainsCome(_priority(settings))),
}
ORACLES: Mapping[str, Named[Oracle]] = {
    "nan": Named(Finite, lambda settings: Finite()),
    "crash": Named(NoCrash, lambda settings: NoCrash()),
    "flip": Named(LabelKept, lambda settings: LabelKept()),
    "differ": Named(Unanimous, lambda settings: Unanimous()),
    "agree": Named(Agreement, lambda settings: Agreement(comparison_named(settings.agree or "argmax"))),
}


NEURON_CRITERIA: Mapping[str, Counting | Ranging] = {
    "nc": Counting(
        "Neurons whose activation, scaled to 0..1 over its layer and input, exceeds a threshold (DeepXplore).",
        lambda settings, layers: ActiveNeurons(layers, _threshold(settings), settings.levels or LEVELS),
    ),
    "kmnc": Ranging(
        "Sections of the range that each neuron has on known data, 1000 equal ones (DeepGauge).",
        lambda settings, profile: Sections(profile, settings.sections),
    ),
    "nbc": Ranging(
        "Regions below and above the range that each neuron has on known data, in buckets.",
        lambda settings, profile: Boundaries(profile, True, settings.buckets, settings.sections),
    ),
    "snac": Ranging(
        "Regions above the range that each neuron has on known data, in buckets.",
        lambda settings, profile: Boundaries(profile, False, settings.buckets, settings.sections),
    ),
    "tknc": Counting(
        "Neurons among the 10 most active of their layer, by rank.",
        lambda settings, layers: Ranked(layers, settings.top),
    ),
    "bknc": Counting(
        "Neurons among the 10 least active of their layer, by rank.",
        lambda settings, layers: Ranked(layers, settings.top, least=True),
    ),
}
CRITERIA: Mapping[str, object] = {**EMBEDDINGS, **NEURON_CRITERIA}
RANGED = [name for name, criterion in NEURON_CRITERIA.items() if isinstance(criterion, Ranging)]
UNITS: Mapping[str, Reduction] = {"channels": channel_means, "every": every_unit}
DISTANCES = ("euclidean", "cosine")


def mutator_of(settings: Settings, means: Means) -> Mutator:
    assert settings.mutator, "settled before"
    named = {name: MUTATORS[chosen("--mutator", name, MUTATORS)] for name in settings.mutator}
    if len(named) == 1:
        return next(iter(named.values())).make(settings, means)
    return Mixed({name: Costed(part.make(settings, means), part.cost) for name, part in named.items()})


def scheduler_of(settings: Settings) -> Scheduler:
    assert settings.scheduler, "settled before"
    scheduler = SCHEDULERS[chosen("--scheduler", settings.scheduler, SCHEDULERS)].make(settings)
    return WithSeeds(scheduler, settings.fresh) if settings.fresh else scheduler


def feedbacks_of(settings: Settings, guides: Guides) -> list[Feedback]:
    return [criterion(settings, name, guides) for name in settings.coverage]


def criterion(settings: Settings, name: str, guides: Guides) -> Feedback:
    chosen("--coverage", name, CRITERIA)
    if name in EMBEDDINGS:
        cosine = chosen("--distance", settings.distance, DISTANCES) == "cosine"
        return FarFromSeen(guides.novelty_layers, settings.threshold, cosine, name)
    return NeuronCoverage(name, partial(_over_layers, settings, NEURON_CRITERIA[name], guides.profile))


def _over_layers(settings: Settings, named: Counting | Ranging, profile: Profile | None, layers: Layers) -> Criterion:
    if not layers:
        raise UsageError("neuron criteria need layers to watch, and this model shows none: use --coverage nearest")
    if isinstance(named, Counting):
        return named.make(settings, layers)
    if profile is None or profile.layers != layers:
        raise UsageError("--profile is of other layers than are watched: make it again with jostle profile")
    return named.make(settings, profile)


def oracles(settings: Settings, classes: bool) -> list[Oracle]:
    for name in ("flip", "differ"):
        if name in settings.oracle and not classes:
            raise UsageError(
                f"--oracle {name} needs a model that gives class scores [batch, classes]: use nan or a property"
            )
    return [_oracle(settings, name) for name in settings.oracle]


def _oracle(settings: Settings, name: str) -> Oracle:
    if not names_object(name):
        return ORACLES[chosen("--oracle", name, [*ORACLES, "FILE.py:function"])].make(settings)
    function = find_object(name)
    if not callable(function):
        raise UsageError(f"--oracle {name} is not a function")
    return Property(name, function)
