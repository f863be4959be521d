"""From settings to seeds, model and target, checked against each other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from jostle.config import Settings
from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import attempt
from jostle.interfaces import Target
from jostle.named_objects import find_object, names_object
from jostle.preflight import TRIED, Flight, preflight
from jostle.recipes.catalogue import NEURON_CRITERIA, UNITS
from jostle.recipes.naming import chosen
from jostle.recipes.settling import RECIPES, settled
from jostle.records import Seeds
from jostle.seeds import ImageForm, load_seeds
from jostle.storage.entries import digest_of
from jostle.targets.chunks import InChunks
from jostle.targets.contained import Contained
from jostle.targets.layers import Layer, before_softmax, layers_of, matching, speaking, working
from jostle.targets.loading import Model, load_model
from jostle.targets.torch_target import Metadata, TorchTarget
from jostle.targets.twins import TWINS, Twins, twin_named


@dataclass(frozen=True)
class Watched:
    """A model as a target, with the layers that are watched."""

    target: Target
    layers: list[str]  # watched
    novelty_layers: list[str]
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
    digest = digest_of(seeds.inputs, seeds.labels, *weights(model), *weights(twin))
    layers = _layers(model, seeds)
    watched = watch(settings, model, twin, layers)
    flight = preflight(model.module, watched.target, seeds, *settings.range, settings.batch, settings.force)
    if settings.layers and not layers:
        raise UsageError("--layers: this model has no layers to watch, only its output; leave it out")
    if "flip" in RECIPES[settings.recipe].hunts and not settings.oracle and not flight.classes:
        warning = "the model gives no class scores, so no labels are compared: only NaNs and crashes are sought"
        flight = replace(flight, warnings=(*flight.warnings, warning))
    settings = settled(settings, bool(flight.classes))
    if settings.mutator == "metamorphic":
        check_images(seeds)
    return Loaded(settings, watched, flight, digest)


def image_form(settings: Settings) -> ImageForm:
    return ImageForm(*settings.range, settings.channels, settings.size)


def load_models(settings: Settings) -> tuple[Model, Model | None]:
    """The model and its twin, if there is one."""
    model = load_seeded(settings, settings.model)
    return model, None if settings.twin is None else twin_or_model(settings, "--twin", settings.twin, model)


def load_seeded(settings: Settings, spec: str) -> Model:
    """The model behind a name; one that draws its weights draws the same each time."""
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        return load_model(spec, settings.trust_model)


def watch(settings: Settings, model: Model, twin: Model | None, layers: Sequence[Layer]) -> Watched:
    """The model as a target that watches what the criteria need."""
    coverage = RECIPES[settings.recipe].choices(settings).coverage
    counted = speaking(layers) if any(name in NEURON_CRITERIA for name in coverage) else working(layers)
    names = matching(layers, settings.layers) if settings.layers and layers else counted
    target = _target(settings, model, twin, names, extremes="nc" in coverage)
    belongs_to = {
        "weights": digest_of(*weights(model)),
        "architecture": hashlib.sha256(str(model.module).encode()).hexdigest()[:16],
        **{name: getattr(settings, name) for name in ("units", "mean", "std")},
        "layers": names,
    }
    return Watched(target, names, names if settings.layers else before_softmax(layers), belongs_to)


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


def _target(
    settings: Settings, model: Model, twin: Model | None, watched: Sequence[str], extremes: bool = False
) -> Target:
    metadata = _metadata(settings)
    reduction = UNITS[chosen("--units", settings.units, UNITS)]
    normalised = (settings.mean, settings.std)
    own = TorchTarget(model.module, watched, reduction, *normalised, metadata, settings.gradients, extremes)
    target = _sized(own, model.batch)
    if twin is not None:
        target = Twins(target, plain_target(settings, twin))
    return Contained(target)


def plain_target(settings: Settings, model: Model) -> Target:
    """A model that is only asked for its outputs."""
    return _sized(TorchTarget(model.module, mean=settings.mean, std=settings.std), model.batch)


def _sized(target: Target, batch: int | None) -> Target:
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
