"""From settings to a campaign ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from jostle.campaign import Budget, Campaign
from jostle.config import Settings
from jostle.errors import UsageError
from jostle.foreign import attempt
from jostle.interfaces import Feedback, Listener, Oracle, Target
from jostle.named_objects import find_object, names_object
from jostle.preflight import TRIED, Flight, preflight
from jostle.recipes.catalogue import UNITS, Parts, chosen, oracles
from jostle.recipes.settling import refuse_contradictions, settled
from jostle.recipes.tensorfuzz import tensorfuzz, tensorfuzz_defaults
from jostle.recipes.unguided import unguided
from jostle.records import History, Seeds, all_rows
from jostle.seeds import ImageForm, load_seeds
from jostle.storage.archive import Archive, open_archive
from jostle.storage.entries import digest_of
from jostle.storage.history import read_history
from jostle.targets.chunks import InChunks
from jostle.targets.contained import Contained
from jostle.targets.layers import Layer, before_softmax, layers_of, matching, working
from jostle.targets.loading import Model, load_model
from jostle.targets.torch_target import Metadata, TorchTarget
from jostle.targets.twins import TWINS, Twins

REHEARSED = 32  # seeds at most, spread over all


@dataclass(frozen=True)
class Recipe:
    """Which parts make a fuzzer, and what it takes where the user left a choice open."""

    parts: Callable[[Settings, list[str]], Parts]
    defaults: Callable[[Settings], Settings]


RECIPES: Mapping[str, Recipe] = {
    "tensorfuzz": Recipe(tensorfuzz, tensorfuzz_defaults),
    "random": Recipe(unguided, lambda settings: settings),
}


@dataclass(frozen=True)
class Assembled:
    """A campaign with all that a front end shows about it."""

    campaign: Campaign
    archive: Archive
    history: History | None
    flight: Flight
    watched: tuple[str, ...]


@dataclass(frozen=True)
class Loaded:
    """Model and seeds, checked; `settings` have nothing left open."""

    settings: Settings
    target: Target
    flight: Flight
    watched: list[str]
    novelty_layers: list[str]
    digest: str  # of seeds and weights


def assemble(settings: Settings, listeners: Sequence[Listener] = ()) -> Assembled:
    """Loads, checks and wires everything; the output folder is touched only after all checks passed."""
    recipe = RECIPES[chosen("--recipe", settings.recipe, RECIPES)]
    refuse_contradictions(settings)
    loaded = _load(settings, recipe)
    settings, seeds = loaded.settings, loaded.flight.seeds
    parts = recipe.parts(settings, loaded.novelty_layers)
    judges = oracles(settings, loaded.flight.classes)
    _rehearse(loaded.target, seeds, recipe.parts(settings, loaded.novelty_layers).feedback, judges)
    archive = open_archive(settings.folder(loaded.digest), settings.identity(loaded.digest), settings.unbound())
    campaign = Campaign(
        target=loaded.target,
        mutator=parts.mutator,
        feedback=parts.feedback,
        oracles=judges,
        scheduler=parts.scheduler,
        seeds=seeds,
        budget=budget_of(settings),
        seed=settings.seed,
        batch=settings.batch,
        listeners=[archive, *listeners],
    )
    return Assembled(campaign, archive, read_history(archive.folder, seeds), loaded.flight, tuple(loaded.watched))


def budget_of(settings: Settings) -> Budget:
    return Budget(settings.budget, settings.executions, settings.findings)


def _load(settings: Settings, recipe: Recipe) -> Loaded:
    seeds = load_seeds(settings.seeds, ImageForm(*settings.range, settings.channels, settings.size))
    _check_seeds(settings, seeds)
    with torch.random.fork_rng():  # a model that draws its weights draws the same each time
        torch.manual_seed(settings.seed)
        model = load_model(settings.model, settings.trust_model)
        twin = _twin(settings, model)  # before the model is watched, so that its copy is not
    layers = _layers(model, seeds)
    watched = matching(layers, settings.layers) if settings.layers and layers else working(layers)
    digest = digest_of(seeds.inputs, seeds.labels, *_weights(model), *_weights(twin))
    target = _target(settings, model, twin, watched)
    flight = preflight(model.module, target, seeds, *settings.range, settings.batch, settings.force)
    if settings.layers and not layers:
        raise UsageError("--layers: this model has no layers to watch, only its output; leave it out")
    settings = recipe.defaults(settled(settings, flight.classes))
    return Loaded(settings, target, flight, watched, watched if settings.layers else before_softmax(layers), digest)


def _check_seeds(settings: Settings, seeds: Seeds) -> None:
    channels = seeds.inputs.shape[1]
    if len(settings.mean) != len(settings.std) or len(settings.mean) not in (0, 1, channels):
        raise UsageError(
            f"--mean has {len(settings.mean)} numbers and --std {len(settings.std)}: give one number to each, "
            f"or one for each of the seeds' {channels} channels"
        )
    if settings.executions is not None and settings.executions < len(seeds):
        raise UsageError(
            f"--executions {settings.executions}: the {len(seeds)} seeds run first, so give at least as many"
        )


def _layers(model: Model, seeds: Seeds) -> list[Layer]:
    """The model's layers, seen on the first seed it accepts; if it accepts none, pre-flight says why."""
    for seed in seeds.inputs[:TRIED].split(1):
        # Two rows, because with one a constant such as a positional embedding looks like one row per input.
        sample = seed.expand(model.batch or 2, *seed.shape[1:]).clone()
        layers = attempt(partial(layers_of, model.module.eval(), sample))
        if isinstance(layers, list):
            return layers
    return []


def _weights(model: Model | None) -> list[Tensor]:
    state = {} if model is None else model.module.state_dict()
    return [value for value in state.values() if isinstance(value, Tensor)]  # quantised layers hold other things too


def _rehearse(target: Target, seeds: Seeds, feedback: Feedback, judges: Sequence[Oracle]) -> None:
    """Some seeds through all that looks at a trace, so that what refuses them does so before anything is written."""
    sample = seeds.as_candidates().select(all_rows(len(seeds))[:: -(-len(seeds) // REHEARSED)])
    trace = target.run(sample)
    for judge in judges:
        judge.judge(sample, trace)
    feedback.assess(trace)


def _target(settings: Settings, model: Model, twin: Model | None, watch: Sequence[str]) -> Target:
    metadata = _metadata(settings)
    reduction = UNITS[chosen("--units", settings.units, UNITS)]
    own = TorchTarget(model.module, watch, reduction, settings.mean, settings.std, metadata, settings.gradients)
    target = _sized(own, model.batch)
    if twin is not None:
        target = Twins(target, _sized(TorchTarget(twin.module, mean=settings.mean, std=settings.std), twin.batch))
    return Contained(target)


def _sized(target: Target, batch: int | None) -> Target:
    return target if batch is None else InChunks(target, batch)


def _twin(settings: Settings, model: Model) -> Model | None:
    if settings.twin is None:
        return None
    if settings.twin in TWINS:
        return Model(TWINS[settings.twin](model.copy().eval()), model.copy, model.batch)
    if not names_object(settings.twin) and "." not in settings.twin:
        chosen("--twin", settings.twin, [*TWINS, "FILE.py:function", "FILE.pt2"])
    return load_model(settings.twin, settings.trust_model)


def _metadata(settings: Settings) -> Metadata | None:
    if settings.metadata is None:
        return None
    if not names_object(settings.metadata):
        raise UsageError(f"--metadata {settings.metadata}: give FILE.py:function")
    function = find_object(settings.metadata)
    if not callable(function):
        raise UsageError(f"--metadata {settings.metadata} is not a function")
    return function
