"""From settings to seeds, model and target, checked against each other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from jostle.config import Settings
from jostle.distances import as_image_file
from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import attempt
from jostle.interfaces import Target
from jostle.named_objects import find_object, names_object
from jostle.preflight import TRIED, Flight, preflight
from jostle.recipes.catalogue import NEURON_CRITERIA, UNITS
from jostle.recipes.naming import chosen
from jostle.recipes.settling import RECIPES, settled
from jostle.records import Crash, Seeds
from jostle.seeds import ImageForm, load_seeds
from jostle.storage.entries import digest_of
from jostle.targets.chunks import InChunks
from jostle.targets.contained import Contained
from jostle.targets.layers import (
    Layer,
    before_softmax,
    incoming_weights,
    layers_of,
    matching,
    scores_layer,
    speaking,
    working,
)
from jostle.targets.loading import Model, load_model
from jostle.targets.panel import Member, Panel, layer_name
from jostle.targets.torch_target import Metadata, TorchTarget
from jostle.targets.twins import TWINS, Twins, twin_named


@dataclass(frozen=True)
class Watched:
    """A model as a target, with the layers that are watched."""

    target: Target
    gradients: Member
    layers: list[str]  # watched
    novelty_layers: list[str]
    incoming: dict[str, Tensor]  # by layer, [neurons] how strong the weights into each neuron are
    belongs_to: dict[str, Any]  # what a profile of it says it is of


@dataclass(frozen=True)
class Loaded:
    """Model and seeds, checked; `settings` have nothing left open."""

    settings: Settings
    watched: Watched
    flight: Flight
    digest: str  # of seeds and weights


def load(settings: Settings) -> Loaded:
    """Everything that settings name, cleared by pre-flight."""
    seeds = load_seeds(settings.seeds, image_form(settings))
    _check_seeds(settings, seeds)
    model, twin = load_models(settings)
    panel = load_panel(settings)
    digest = digest_of_all(seeds, model, twin, *panel)
    layers = _layers(model, seeds)
    watched = watch(settings, model, twin, layers)
    for spec, other in zip(settings.models, panel, strict=True):
        _check_takes(settings, spec, other, seeds)
    if panel:
        watched = seated(settings, [watched, *(watch(settings, one, None, _layers(one, seeds)) for one in panel)])
    flight = preflight(model.module, watched.target, seeds, *settings.range, settings.batch, settings.force)
    if settings.layers and not layers:
        raise UsageError("--layers: this model has no layers to watch, only its output; leave it out")
    if "flip" in RECIPES[settings.recipe].hunts and not settings.oracle and not flight.classes:
        warning = "the model gives no class scores, so no labels are compared: only NaNs and crashes are sought"
        flight = replace(flight, warnings=(*flight.warnings, warning))
    images = _are_images(seeds, *settings.range)
    settings = settled(settings, bool(flight.classes), images)
    if images and settings.as_images:  # exactly as files give them back, whatever arithmetic made them
        exact = as_image_file(flight.seeds.inputs, *settings.range)
        flight = replace(flight, seeds=replace(flight.seeds, inputs=exact))
    if "metamorphic" in settings.mutator:
        check_images(seeds)
    if settings.as_images and not images:
        raise PreflightFailed(
            f"--as-images: seeds of shape {list(seeds.inputs.shape[1:])} are not what 8-bit image files hold between "
            f"{settings.range[0]:g} and {settings.range[1]:g}: leave it out"
        )
    if settings.models:
        _check_panel(settings, watched, flight)
    return Loaded(settings, watched, flight, digest)


def image_form(settings: Settings) -> ImageForm:
    return ImageForm(*settings.range, settings.channels, settings.size)


def load_models(settings: Settings) -> tuple[Model, Model | None]:
    """The model and its twin, if there is one."""
    model = load_seeded(settings, settings.model, settings.weights)
    return model, None if settings.twin is None else twin_or_model(settings, "--twin", settings.twin, model)


def load_panel(settings: Settings) -> list[Model]:
    """The other models of the same task."""
    return [load_seeded(settings, spec) for spec in settings.models]


def digest_of_all(seeds: Seeds, *models: Model | None) -> str:
    """Equal for the same seeds and weights."""
    return digest_of(seeds.inputs, seeds.labels, *chain(*map(weights, models)))


def load_seeded(settings: Settings, spec: str, weights: str | None = None) -> Model:
    """The model behind a name, with weights of a file if given; one that draws its weights draws the same each time."""
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        return load_model(spec, settings.trust_model, weights)


def watch(settings: Settings, model: Model, twin: Model | None, layers: Sequence[Layer]) -> Watched:
    """The model as a target that watches what the criteria need."""
    choices = RECIPES[settings.recipe].choices(settings)
    coverage = choices.coverage
    neurons = any(name in NEURON_CRITERIA for name in coverage) or "gradient" in choices.mutator
    counted = speaking(layers) if neurons else working(layers)
    names = matching(layers, settings.layers) if settings.layers and layers else counted
    scaled = "nc" in coverage or "gradient" in choices.mutator
    own = _own_target(settings, model, names, scaled, scores_layer(layers))
    target = Contained(own if twin is None else Twins(own, plain_target(settings, twin)))
    belongs_to = {
        "weights": digest_of(*weights(model)),
        "architecture": hashlib.sha256(str(model.module).encode()).hexdigest()[:16],
        **{name: getattr(settings, name) for name in ("units", "mean", "std")},
        "layers": names,
    }
    novelty_layers = names if settings.layers else before_softmax(layers)
    return Watched(target, own, names, novelty_layers, incoming_weights(model.module, layers), belongs_to)


def seated(settings: Settings, members: Sequence[Watched]) -> Watched:
    """Several models of one task as one target."""
    first = members[0]
    named = [(number, name) for number, member in enumerate(members) for name in member.layers]
    panel = Panel([member.gradients for member in members])
    return replace(
        first,
        target=Contained(panel),
        gradients=panel,
        layers=[layer_name(number, name) for number, name in named],
        incoming={
            layer_name(number, name): strength
            for number, member in enumerate(members)
            for name, strength in member.incoming.items()
        },
    )


def _check_takes(settings: Settings, spec: str, model: Model, seeds: Seeds) -> None:
    """Another model of the same task accepts what the first one does."""
    tried = [attempt(partial(plain_target(settings, model).predict, seed)) for seed in seeds.inputs[:TRIED].split(1)]
    crashes = [one for one in tried if isinstance(one, Crash)]
    if len(crashes) == len(tried):
        reason = f"{crashes[0].error}: {crashes[0].message}"
        raise UsageError(f"--models {spec} fails on the seeds ({reason}): give models of the same task")


def _check_panel(settings: Settings, watched: Watched, flight: Flight) -> None:
    """All models must tell the same classes apart."""
    trace = watched.target.run(flight.seeds.as_candidates().select(torch.arange(1)))
    for spec, outputs in zip((settings.model, *settings.models), trace.outputs.values(), strict=True):
        if outputs.shape[1:] != (flight.classes,):
            raise UsageError(
                f"--models {spec} gives outputs of shape {list(outputs.shape[1:])}, the model scores of "
                f"{flight.classes} classes: give models of the same task"
            )


def _are_images(seeds: Seeds, low: float, high: float) -> bool:
    """Whether 8-bit image files could hold the seeds just as they are."""
    inputs = seeds.inputs
    if inputs.ndim != 4 or inputs.shape[1] not in (1, 3):
        return False
    return torch.allclose(as_image_file(inputs, low, high).float(), inputs.float(), rtol=0, atol=1e-6 * (high - low))


def check_images(seeds: Seeds) -> None:
    """Image transformations need [channels, height, width]."""
    shape = list(seeds.inputs.shape[1:])
    if len(shape) != 3:
        raise PreflightFailed(
            f"seeds of shape {shape} are no images [channels, height, width]: use --mutator noise for them"
        )
    if shape[2] in (1, 3, 4) and shape[0] > 4:
        raise PreflightFailed(
            f"seeds of shape {shape} have their channels last: move them first, x.transpose(0, 3, 1, 2), and let the "
            f"model take them so"
        )


def check_normalisation(settings: Settings, channels: int) -> None:
    if len(settings.mean) != len(settings.std) or len(settings.mean) not in (0, 1, channels):
        raise UsageError(
            f"--mean has {len(settings.mean)} numbers, --std has {len(settings.std)}: give both, with one number each "
            f"or one for each of the inputs' {channels} channels"
        )


def _check_seeds(settings: Settings, seeds: Seeds) -> None:
    check_normalisation(settings, seeds.inputs.shape[1])
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


def weights(model: Model | None) -> list[Tensor]:
    state = {} if model is None else model.module.state_dict()
    return [value for value in state.values() if isinstance(value, Tensor)]  # quantised layers hold other things too


def _own_target(settings: Settings, model: Model, watched: Sequence[str], extremes: bool, scores: str | None) -> Member:
    metadata = _metadata(settings)
    reduction = UNITS[chosen("--units", settings.units, UNITS)]
    normalised = (settings.mean, settings.std)
    return _sized(
        TorchTarget(model.module, watched, reduction, *normalised, metadata, settings.gradients, extremes, scores),
        model.batch,
    )


def plain_target(settings: Settings, model: Model) -> Target:
    """A model that is only asked for its outputs."""
    return _sized(TorchTarget(model.module, mean=settings.mean, std=settings.std), model.batch)


def _sized(target: TorchTarget, batch: int | None) -> Member:
    return target if batch is None else InChunks(target, batch)


def twin_or_model(settings: Settings, option: str, name: str, model: Model, draw: int = 0) -> Model:
    """The model's twin of that name, or else the model behind it; the draw chooses among twins with random weights."""
    twin = twin_named(name, model.copy, settings.seed + draw)
    if twin is not None:
        return Model(twin, model.copy, model.batch)
    if not names_object(name) and "." not in name:
        chosen(option, name, [*TWINS, "weights16:50%", "FILE.py:function", "FILE.pt2"])
    return load_seeded(settings, name)


def _metadata(settings: Settings) -> Metadata | None:
    if settings.metadata is None:
        return None
    if not names_object(settings.metadata):
        raise UsageError(f"--metadata {settings.metadata}: give FILE.py:function")
    function = find_object(settings.metadata)
    if not callable(function):
        raise UsageError(f"--metadata {settings.metadata} is not a function")
    return function
