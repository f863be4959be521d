"""Models as targets: loaded, and watched as the settings want it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from torch import Tensor

from jostle.config import Settings
from jostle.errors import UsageError
from jostle.foreign import Crash, attempt
from jostle.interfaces import ModelTarget
from jostle.named_objects import find_object, names_object
from jostle.options.choices import chosen
from jostle.randomness import seeded
from jostle.session.defaults import RECIPES
from jostle.session.parts import NEURON_CRITERIA, UNITS
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

    target: ModelTarget  # what the model raises, it raises
    gradients: Member
    layers: list[str]  # watched
    novelty_layers: list[str]
    incoming: dict[str, Tensor]  # by layer, [neurons] how strong the weights into each neuron are
    belongs_to: dict[str, Any]  # what a profile of it says it is of
    weights: str  # a digest of those of all models
    training: bool  # a layer of the model is in training mode, although it should not be


class Models:
    """The models that settings name, loaded into this process."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self.own = load_seeded(settings, settings.model, settings.weights)
        twin = settings.twin
        self._twin = None if twin is None else twin_or_model(settings, "--twin", twin, self.own)
        self._panel = [load_seeded(settings, spec) for spec in settings.models]

    def watched(self, sample: Tensor) -> Watched:
        """All of them as one target; their layers are those that run on inputs of the sample [some, ...]."""
        settings = self._settings
        first = watch(settings, self.own, self._twin, _layers(self.own, sample))
        for spec, other in zip(settings.models, self._panel, strict=True):
            _check_takes(settings, spec, other, sample)
        if not self._panel:
            return first
        return seated([first, *(watch(settings, one, None, _layers(one, sample)) for one in self._panel)])


def contained(watched: Watched) -> Watched:
    """The same with what the model raises, or dies of, as outcomes."""
    return replace(watched, target=Contained(watched.target))


def load_seeded(settings: Settings, spec: str, weights: str | None = None) -> Model:
    """The model behind a name, with weights of a file if given; one that draws its weights draws the same each time."""
    return seeded(settings.seed, lambda: load_model(spec, settings.trust_model, weights))


def watch(settings: Settings, model: Model, twin: Model | None, layers: Sequence[Layer]) -> Watched:
    """The model as a target that watches what the criteria need."""
    choices = RECIPES[settings.recipe].choices(settings)
    coverage = choices.coverage
    neurons = any(name in NEURON_CRITERIA for name in coverage) or "gradient" in choices.mutator
    counted = speaking(layers) if neurons else working(layers)
    names = matching(layers, settings.layers) if settings.layers and layers else counted
    scaled = "nc" in coverage or "gradient" in choices.mutator
    own = _own_target(settings, model, names, scaled, scores_layer(layers))
    target = own if twin is None else Twins(own, plain_target(settings, twin))
    belongs_to = {
        "weights": digest_of(*weights(model)),
        "architecture": hashlib.sha256(str(model.module).encode()).hexdigest()[:16],
        **{name: getattr(settings, name) for name in ("units", "mean", "std")},
        "layers": names,
    }
    novelty_layers = names if settings.layers else before_softmax(layers)
    return Watched(
        target=target,
        gradients=own,
        layers=names,
        novelty_layers=novelty_layers,
        incoming=incoming_weights(model.module, layers),
        belongs_to=belongs_to,
        weights=digest_of(*chain(weights(model), weights(twin))),
        training=any(child.training for child in model.module.modules()),
    )


def seated(members: Sequence[Watched]) -> Watched:
    """Several models of one task as one target."""
    first = members[0]
    named = [(number, name) for number, member in enumerate(members) for name in member.layers]
    panel = Panel([member.gradients for member in members])
    return replace(
        first,
        target=panel,
        gradients=panel,
        weights="".join(member.weights for member in members),
        layers=[layer_name(number, name) for number, name in named],
        incoming={
            layer_name(number, name): strength
            for number, member in enumerate(members)
            for name, strength in member.incoming.items()
        },
    )


def _check_takes(settings: Settings, spec: str, model: Model, sample: Tensor) -> None:
    """Another model of the same task accepts what the first one does."""
    tried = [attempt(partial(plain_target(settings, model).predict, seed)) for seed in sample.split(1)]
    crashes = [one for one in tried if isinstance(one, Crash)]
    if len(crashes) == len(tried):
        reason = f"{crashes[0].error}: {crashes[0].message}"
        raise UsageError(f"--models {spec} fails on the seeds ({reason}): give models of the same task")


def _layers(model: Model, sample: Tensor) -> list[Layer]:
    """The model's layers, seen on the first input it accepts; if it accepts none, pre-flight says why."""
    for seed in sample.split(1):
        # Two rows, because with one a constant such as a positional embedding looks like one row per input.
        two = seed.expand(model.batch or 2, *seed.shape[1:]).clone()
        layers = attempt(partial(layers_of, model.module.eval(), two))
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


def plain_target(settings: Settings, model: Model) -> ModelTarget:
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
