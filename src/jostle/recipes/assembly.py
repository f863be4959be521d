"""From settings to a campaign ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from jostle.campaign import Budget, Campaign
from jostle.config import Settings
from jostle.errors import UsageError
from jostle.foreign import attempt
from jostle.interfaces import Feedback, Listener, Oracle, Target
from jostle.named_objects import find_object, names_object
from jostle.preflight import Flight, check_range, gives_classes, preflight
from jostle.recipes.catalogue import UNITS, Parts, chosen, oracles
from jostle.recipes.tensorfuzz import tensorfuzz
from jostle.recipes.unguided import unguided
from jostle.records import History, Seeds, all_rows
from jostle.seeds import ImageForm, load_seeds
from jostle.storage.archive import Archive, open_archive
from jostle.storage.entries import digest
from jostle.storage.history import read_history
from jostle.targets.chunks import InChunks
from jostle.targets.contained import Contained
from jostle.targets.layers import Layer, before_softmax, layers_of, matching, working
from jostle.targets.loading import Model, load_model
from jostle.targets.torch_target import Metadata, TorchTarget
from jostle.targets.twins import TWINS, Twins

RECIPES: Mapping[str, Callable[[Settings, list[str]], Parts]] = {"tensorfuzz": tensorfuzz, "random": unguided}
DEFAULT_SECONDS = 60.0


@dataclass(frozen=True)
class Assembled:
    """A campaign with all that a front end shows about it."""

    campaign: Campaign
    archive: Archive
    history: History | None
    flight: Flight
    watched: tuple[str, ...]
    budget: Budget


def assemble(settings: Settings, listeners: Sequence[Listener] = ()) -> Assembled:
    """Loads, checks and wires everything; the output folder is touched only after all checks passed."""
    recipe = RECIPES[chosen("--recipe", settings.recipe, RECIPES)]
    seeds = load_seeds(settings.seeds, ImageForm(*settings.range, settings.channels, settings.size))
    check_range(seeds, *settings.range)
    model = load_model(settings.model, settings.trust_model)
    layers = _layers(model, seeds)
    watch = matching(layers, settings.layers) if settings.layers and layers else working(layers)
    _check_normalisation(settings, seeds)
    target = _target(settings, model, watch)
    flight = preflight(model.module, target, seeds, *settings.range, settings.batch, settings.force)
    if settings.layers and not layers:
        raise UsageError("--layers: this model has no layers to watch, only its output; leave it out")
    novelty_layers = watch if settings.layers else before_softmax(layers)
    parts = recipe(settings, novelty_layers)
    judges = oracles(settings, gives_classes(target.predict(seeds.inputs[:2])))
    _rehearse(target, flight.seeds, recipe(settings, novelty_layers).feedback, judges)
    budget = _budget(settings, seeds)
    seeds_digest = digest(seeds.inputs)
    archive = open_archive(settings.folder(seeds_digest), settings.identity(seeds_digest), settings.unbound())
    campaign = Campaign(
        target=target,
        mutator=parts.mutator,
        feedback=parts.feedback,
        oracles=judges,
        scheduler=parts.scheduler,
        seeds=flight.seeds,
        budget=budget,
        seed=settings.seed,
        batch=settings.batch,
        listeners=[archive, *listeners],
    )
    return Assembled(campaign, archive, read_history(archive.folder, flight.seeds), flight, tuple(watch), budget)


def _budget(settings: Settings, seeds: Seeds) -> Budget:
    if settings.executions is not None and settings.executions < len(seeds):
        raise UsageError(
            f"--executions {settings.executions}: the {len(seeds)} seeds run first, so give at least as many"
        )
    unlimited = settings.budget is None and settings.executions is None
    return Budget(DEFAULT_SECONDS if unlimited else settings.budget, settings.executions, settings.findings)


def _layers(model: Model, seeds: Seeds) -> list[Layer]:
    """The model's layers; one that fails on a seed has none, and pre-flight says why."""
    # Two rows, because with one a constant such as a positional embedding looks like one row per input.
    sample = seeds.inputs[:1].expand(model.batch or 2, *seeds.inputs.shape[1:]).clone()
    layers = attempt(lambda: layers_of(model.module.eval(), sample))
    return layers if isinstance(layers, list) else []


def _check_normalisation(settings: Settings, seeds: Seeds) -> None:
    channels = seeds.inputs.shape[1]
    if len(settings.mean) != len(settings.std) or len(settings.mean) not in (0, 1, channels):
        raise UsageError(
            f"--mean and --std go together: give one number, or one for each of the seeds' {channels} channels, to each"
        )


def _rehearse(target: Target, seeds: Seeds, feedback: Feedback, judges: Sequence[Oracle]) -> None:
    """A few seeds through all that looks at a trace, so that what refuses them does so before anything is written."""
    sample = seeds.as_candidates().select(all_rows(min(2, len(seeds))))
    trace = target.run(sample)
    for judge in judges:
        judge.judge(sample, trace)
    if torch.equal(seeds.inputs, seeds.inputs[:1].expand_as(seeds.inputs)):
        feedback.assess(trace)  # calibration needs seeds that differ


def _target(settings: Settings, model: Model, watch: Sequence[str]) -> Target:
    metadata = _metadata(settings)
    if settings.gradients and metadata is None:
        raise UsageError("--gradients needs --metadata FILE.py:function, whose values it differentiates")
    reduction = UNITS[chosen("--units", settings.units, UNITS)]
    twin = _twin(settings, model)  # before the model is watched, so that its copy is not
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
        make = TWINS[settings.twin]
        return Model(make(model.copy().eval()), model.copy, model.batch)
    if names_object(settings.twin) or "." in settings.twin:
        return load_model(settings.twin, settings.trust_model)
    chosen("--twin", settings.twin, [*TWINS, "FILE.py:function", "FILE.pt2"])
    raise AssertionError("unreachable: an unknown twin was refused")


def _metadata(settings: Settings) -> Metadata | None:
    if settings.metadata is None:
        return None
    if not names_object(settings.metadata):
        raise UsageError(f"--metadata {settings.metadata}: give FILE.py:function")
    function = find_object(settings.metadata)
    if not callable(function):
        raise UsageError(f"--metadata {settings.metadata} is not a function")
    return function
