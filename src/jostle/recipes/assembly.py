"""From settings to a campaign ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jostle.campaign import Budget, Campaign
from jostle.config import Settings
from jostle.errors import UsageError
from jostle.foreign import attempt
from jostle.interfaces import Listener, Target
from jostle.named_objects import find_object, names_object
from jostle.preflight import Flight, check_range, gives_classes, preflight
from jostle.recipes.catalogue import UNITS, Parts, chosen, oracles
from jostle.recipes.tensorfuzz import tensorfuzz
from jostle.recipes.unguided import unguided
from jostle.records import History, Seeds
from jostle.seeds import ImageForm, load_seeds
from jostle.storage.archive import Archive, open_archive, read_history
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
    watch = matching(layers, settings.layers) if settings.layers else working(layers)
    target = _target(settings, model, watch)
    flight = preflight(model.module, target, seeds, *settings.range, settings.batch, settings.force)
    parts = recipe(settings, watch if settings.layers else before_softmax(layers))
    judges = oracles(settings, gives_classes(target.predict(seeds.inputs[:2])))
    archive = open_archive(settings.folder(), settings.identity())
    budget = _budget(settings)
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


def _budget(settings: Settings) -> Budget:
    unlimited = settings.budget is None and settings.executions is None
    return Budget(DEFAULT_SECONDS if unlimited else settings.budget, settings.executions, settings.findings)


def _layers(model: Model, seeds: Seeds) -> list[Layer]:
    """The model's layers; one that fails on a seed has none, and pre-flight says why."""
    sample = seeds.inputs[:1].expand(model.batch or 1, *seeds.inputs.shape[1:])
    layers = attempt(lambda: layers_of(model.module.eval(), sample))
    return layers if isinstance(layers, list) else []


def _target(settings: Settings, model: Model, watch: Sequence[str]) -> Target:
    metadata = _metadata(settings)
    if settings.gradients and metadata is None:
        raise UsageError("--gradients needs --metadata FILE.py:function, whose values it differentiates")
    if len(settings.mean) != len(settings.std):
        raise UsageError("--mean and --std go together: give one number per channel to each")
    reduction = UNITS[chosen("--units", settings.units, UNITS)]
    own = TorchTarget(model.module, watch, reduction, settings.mean, settings.std, metadata, settings.gradients)
    target = _sized(own, model.batch)
    if settings.twin is not None:
        twin = _twin(settings, model)
        target = Twins(target, _sized(TorchTarget(twin.module, mean=settings.mean, std=settings.std), twin.batch))
    return Contained(target)


def _sized(target: Target, batch: int | None) -> Target:
    return target if batch is None else InChunks(target, batch)


def _twin(settings: Settings, model: Model) -> Model:
    assert settings.twin is not None
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
