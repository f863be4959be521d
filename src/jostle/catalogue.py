"""Every part by the name a user types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jostle.errors import UsageError
from jostle.feedback.coverage_parts import MEASURED
from jostle.feedback.gap import GAP
from jostle.feedback.nearest import MAGNITUDE, NEAREST
from jostle.interfaces import Feedback, Mutator, Oracle, Scheduler
from jostle.mutators.audio import AUDIO
from jostle.mutators.each import each_of
from jostle.mutators.embedding import EMBEDDING_EDITS
from jostle.mutators.gradient_part import GRADIENT
from jostle.mutators.havoc import HAVOC
from jostle.mutators.metamorphic import METAMORPHIC
from jostle.mutators.mixed import Costed, Mixed
from jostle.mutators.noise import NOISE
from jostle.mutators.table import TABLE_STEPS
from jostle.mutators.text import TEXT_EDITS
from jostle.mutators.tokens import TOKEN_EDITS
from jostle.named_objects import find_object, names_object
from jostle.options.declaration import Theme, option
from jostle.options.kinds import choice, choices
from jostle.options.schema import Settings
from jostle.oracles.agreement import AGREE
from jostle.oracles.boxes import BOXES_KEPT
from jostle.oracles.crash import CRASHES
from jostle.oracles.embedding import EMBEDDING
from jostle.oracles.labels import FLIP
from jostle.oracles.masks import MASKS
from jostle.oracles.moved import MOVED
from jostle.oracles.numeric import NAN
from jostle.oracles.properties import property_named
from jostle.oracles.sequence import SEQUENCE
from jostle.oracles.unanimity import DIFFER
from jostle.own_parts import Parts
from jostle.part import Part, PartContext, kind_beside
from jostle.schedulers.adaptive import ADAPTIVE
from jostle.schedulers.batch_pool import POOL
from jostle.schedulers.best_of_seed import CLIMB
from jostle.schedulers.least_fuzzed import SELDOM
from jostle.schedulers.recent import RECENT, SMOOTH, UNIFORM
from jostle.schedulers.seed_list import LIST
from jostle.schedulers.with_seeds import WithSeeds, WithSeedsOptions
from jostle.task import OF_LABELS

OWN_PROPERTY, OWN_PART = "FILE.py:function", "FILE.py:class"
OF_ONE_INPUT: Mapping[str, Part[Mutator]] = {
    "noise": NOISE,
    "havoc": HAVOC,
    "metamorphic": METAMORPHIC,
    "gradient": GRADIENT,
    "table": TABLE_STEPS,
    "audio": AUDIO,
    "tokens": TOKEN_EDITS,
    "text": TEXT_EDITS,
    "embedding": EMBEDDING_EDITS,
}
MUTATORS: Parts[Mutator] = Parts("mutator", "jostle.mutators", Mutator, {**OF_ONE_INPUT, "each": each_of(OF_ONE_INPUT)})
OUR_SCHEDULERS: Mapping[str, Part[Scheduler]] = {
    "uniform": UNIFORM,
    "recent": RECENT,
    "smooth": SMOOTH,
    "pool": POOL,
    "seldom": SELDOM,
    "list": LIST,
    "adaptive": ADAPTIVE,
    "climb": CLIMB,
}
SCHEDULERS: Parts[Scheduler] = Parts("scheduler", "jostle.schedulers", Scheduler, OUR_SCHEDULERS)
OUR_ORACLES: Mapping[str, Part[Oracle]] = {
    "nan": NAN,
    "crash": CRASHES,
    "flip": FLIP,
    "differ": DIFFER,
    "agree": AGREE,
    "moved": MOVED,
    "masks": MASKS,
    "boxes": BOXES_KEPT,
    "embedding": EMBEDDING,
    "sequence": SEQUENCE,
}
ORACLES: Parts[Oracle] = Parts("oracle", "jostle.oracles", Oracle, OUR_ORACLES)
OUR_CRITERIA: Mapping[str, Part[Feedback]] = {
    "nearest": NEAREST,
    "magnitude": MAGNITUDE,
    **MEASURED,
    "gap": GAP,
}
CRITERIA: Parts[Feedback] = Parts("criterion", "jostle.criteria", Feedback, OUR_CRITERIA)
PARTS: Mapping[str, Parts[Any]] = {
    "coverage": CRITERIA,
    "mutator": MUTATORS,
    "scheduler": SCHEDULERS,
    "oracle": ORACLES,
}


@dataclass(frozen=True)
class PartOptions:
    """Which parts a fuzzer is made of."""

    oracle: tuple[str, ...] = option(
        choices(lambda: [*ORACLES, OWN_PROPERTY], also=names_object),
        f"What counts as a defect: {','.join(ORACLES)},{OWN_PROPERTY}",
        Theme.FIRST,
        default=(),
        names_file=True,
        names_python=True,
    )
    mutator: tuple[str, ...] = option(
        choices(lambda: MUTATORS, "a mutator", also=names_object),
        f"{', '.join(MUTATORS)}, {OWN_PART}, or several",
        Theme.MUTATION,
        default=(),
        names_file=True,
        names_python=True,
    )
    coverage: tuple[str, ...] = option(
        choices(lambda: CRITERIA, "a criterion", also=names_object),
        f"What guides: {', '.join(CRITERIA)}, {OWN_PART}, or several",
        Theme.FIRST,
        default=(),
        names_file=True,
        names_python=True,
    )
    scheduler: str = option(
        choice(lambda: SCHEDULERS, also=names_object),
        f"Whom to mutate: {', '.join(SCHEDULERS)}, {OWN_PART}",
        Theme.SCHEDULING,
        default="",
        names_file=True,
        names_python=True,
    )


# The dataclasses of options that some part reads, and those are in effect that a part reads that was chosen.
PART_GROUPS: tuple[type, ...] = tuple(
    dict.fromkeys(group for parts in PARTS.values() for part in parts.ours.values() for group in part.options)
)


def parts_named(kind: str, value: Any) -> Iterator[Part[Any]]:
    """The parts that one of these options names; a property of the user's own reads no options."""
    for name in (value,) if isinstance(value, str) else value:
        if kind != "oracle" or not is_property(name):
            yield PARTS[kind][name]


def readers_of(group: type) -> dict[str, list[str]]:
    """By option, the names of the parts that read these options."""
    single = {**PARTS, "mutator": OF_ONE_INPUT}  # `each` reads what those that it is made of read
    ours = {kind: parts.ours if isinstance(parts, Parts) else parts for kind, parts in single.items()}
    named = {kind: [name for name, part in parts.items() if group in part.options] for kind, parts in ours.items()}
    return {kind: names for kind, names in named.items() if names}


def mutator_of(settings: Settings, context: PartContext) -> Mutator:
    """The mutator that was chosen, or several that earn their share."""
    named = {name: MUTATORS[name] for name in settings[PartOptions].mutator}
    made = {name: part.make(settings, context) for name, part in named.items()}
    if len(made) == 1:
        return next(iter(made.values()))
    return Mixed({name: Costed(mutator, named[name].cost) for name, mutator in made.items()})


def scheduler_of(settings: Settings, context: PartContext) -> Scheduler:
    scheduler = SCHEDULERS[settings[PartOptions].scheduler].make(settings, context)
    fresh = settings[WithSeedsOptions].fresh
    return WithSeeds(scheduler, fresh) if fresh else scheduler


def feedbacks_of(settings: Settings, context: PartContext) -> list[Feedback]:
    return [CRITERIA[name].make(settings, context) for name in settings[PartOptions].coverage]


def oracles_of(settings: Settings, context: PartContext) -> dict[str, Oracle]:
    """The oracles by the names that chose them."""
    asked = settings[PartOptions].oracle
    able = {"flip": context.reading.task in OF_LABELS, "differ": bool(context.classes)}
    for name in able.keys() & set(asked):
        if not able[name]:
            raise UsageError(
                f"--oracle {name} needs a model that gives class scores [batch, classes]: use nan or a property, or "
                f"say what the model does with --task"
            )
    return {kind: oracle for name in asked for kind, oracle in _oracles_named(name, settings, context)}


def is_property(name: str) -> bool:
    """Whether what an option names as an oracle is a function that says of elements what is wrong."""
    return name not in ORACLES.ours and name not in ORACLES.added and not ORACLES.is_made_by(find_object(name))


def _oracles_named(name: str, settings: Settings, context: PartContext) -> Iterator[tuple[str, Oracle]]:
    """The oracle of this name, or one for each twin."""
    if is_property(name):
        yield name, property_named(name)
    elif ORACLES[name].per_twin:
        for variant in context.twins:
            yield kind_beside(name, variant), ORACLES[name].make(settings, replace(context, compared=variant))
    else:
        yield name, ORACLES[name].make(settings, context)
