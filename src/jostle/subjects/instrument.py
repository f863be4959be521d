"""Subjects as targets, watched as the parts of a fuzzer need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from jostle.errors import PreflightFailed, UsageError
from jostle.foreign import Crash, attempt
from jostle.interfaces import ComparesLayers, Differentiable, DifferentiableTarget, ModelTarget
from jostle.named_objects import find_object, names_object
from jostle.options.campaign import EVERY_LAYER, InputOptions, WatchOptions
from jostle.options.resources import FIRST_BATCH
from jostle.subjects.layers import Layer, activated, before_softmax, matching, scores_layer, speaking, working
from jostle.subjects.subject import Metadata, Subject, Watch
from jostle.targets.chunks import GradientsInBatches, InBatches, InChunks
from jostle.targets.contained import Contained
from jostle.targets.once import RunsOnce
from jostle.targets.panel import Panel, layer_name
from jostle.targets.twins import Twins, variants
from jostle.traits import NO_TRAITS, Traits


@dataclass(frozen=True)
class Instrumentation:
    """What is watched of every model: what the user asked for, and what the parts of the fuzzer look at."""

    options: WatchOptions
    inputs: InputOptions
    counted: str | None = None  # whose neurons are counted; None where no part looks at neurons
    extremes: bool = False  # the smallest and the largest value of each layer
    twin_gradients: bool = False  # twins are differentiated as the model is


@dataclass(frozen=True)
class Instrumented:
    """A model as a target, with the layers that are watched."""

    target: ModelTarget
    gradients: Differentiable  # what the model raises, it raises
    layers: list[str]  # watched
    novelty_layers: list[str]
    incoming: dict[str, Tensor]  # by layer, [neurons] how strong the weights into each neuron are
    belongs_to: dict[str, Any]  # what a profile of it says it is of
    digest: str  # of all models
    outputs: dict[str, bool]  # by name all that the model returns, and whether it has one row per input
    traits: Traits  # of the model
    twins: dict[str, str] = field(default_factory=dict)  # by variant of the outputs, what the user calls the twin
    notes: tuple[str, ...] = ()  # what the user should know of it
    sandbox: str = ""  # what its own process is kept from, in words, where it has a sandbox
    embedding: Tensor | None = None  # [vocabulary, dimensions] where the model looks tokens up, if it does
    threads_vary: bool = True  # it runs on as many threads as torch has at the time, not as when it was loaded
    twin_layers: ComparesLayers | None = None  # where there are twins; what the models raise, it raises
    passes: Differentiable | None = None  # the gradients, whose passes the target does not run again, once contained

    def contained(self, at_once: int = FIRST_BATCH) -> Instrumented:
        """The same with what the model raises, or dies of, as outcomes; it runs at most so many inputs at once."""
        batches = InBatches(Contained(self.target), at_once)
        once = RunsOnce(batches, GradientsInBatches(self.gradients, at_once))
        return replace(self, target=once, passes=once)


def instrument(
    watching: Instrumentation,
    subject: Subject,
    sample: Tensor,
    twins: Mapping[str, Subject] = MappingProxyType({}),
    others: Sequence[Subject] = (),
) -> Instrumented:
    """A model, with its twins by name or beside others of the same task, as one target.

    Layers are those that run on inputs of the sample [some, ...].
    """
    inputs, output = watching.inputs, watching.options.output
    own, first = _watched(watching, fitted(subject, inputs, sample, output), sample)
    if twins:
        targets = {name: _twin_target(watching, name, twin, sample) for name, twin in twins.items()}
        both = Twins(own, targets)
        gradients = both if watching.twin_gradients else own
        return replace(first, target=both, gradients=gradients, twins=variants(list(twins)))
    if not others:
        return first
    fitting = [fitted(one, inputs, sample, output) for one in others]
    return _side_by_side([(own, first), *(_watched(watching, one, sample) for one in fitting)])


def fitted(subject: Subject, inputs: InputOptions, sample: Tensor, output: str | None = None) -> Subject:
    """The model, known to need batches of one if it accepts an input of the sample [some, ...] only alone."""
    if subject.batch is not None:
        return subject
    target = plain_target(subject, inputs, output)
    for seed in sample.split(1):
        if not isinstance(attempt(partial(target.predict, seed)), Crash):
            two = attempt(partial(target.predict, torch.cat([seed, seed])))
            return subject.of_batch(1) if isinstance(two, Crash) else subject
    return subject


def layers_on(subject: Subject, sample: Tensor) -> list[Layer]:
    """The layers, seen on the first input that the model accepts; if it accepts none, pre-flight says why."""
    for seed in sample.split(1):
        layers = attempt(partial(layers_on_one, subject, seed))
        if isinstance(layers, list):
            return layers
    return []


def layers_on_one(subject: Subject, seed: Tensor) -> list[Layer]:
    """The layers that run on one input [1, ...]; what the model raises, this raises."""
    return subject.layers(as_batch(subject, seed))


def traits_on(subject: Subject, sample: Tensor) -> Traits:
    """The traits, seen on the first input that the model accepts; if it accepts none, nothing is known."""
    for seed in sample.split(1):
        traits = attempt(partial(subject.traits, as_batch(subject, seed)))
        if isinstance(traits, Traits):
            return traits
    return NO_TRAITS


def outputs_on(subject: Subject, sample: Tensor) -> dict[str, bool]:
    """All outputs by name, and whether they have one row per input, seen on the first input that the model accepts."""
    for seed in sample.split(1):
        batch = as_batch(subject, seed)
        outputs = attempt(partial(subject.outputs, batch))
        if isinstance(outputs, dict):
            return {name: shape[:1] == [len(batch)] for name, shape in outputs.items()}
    return {}


def as_batch(subject: Subject, seed: Tensor) -> Tensor:
    """One input [1, ...] as the smallest batch: of two rows, because with one a constant looks like a row per input."""
    return seed.expand(subject.batch or 2, *seed.shape[1:]).clone()


def plain_target(
    subject: Subject, inputs: InputOptions, output: str | None = None, scores: str | None = None
) -> DifferentiableTarget:
    """A model that is only asked for its outputs, or for scores that a layer gives before them."""
    watch = Watch(mean=inputs.mean, std=inputs.std, output=output, scores=scores)
    return watched_target(subject, watch)


def _twin_target(watching: Instrumentation, name: str, twin: Subject, sample: Tensor) -> DifferentiableTarget:
    """A twin, with scores that can be compared with the model's where it is differentiated."""
    inputs, output = watching.inputs, watching.options.output
    try:
        own = fitted(twin, inputs, sample, output)
    except PreflightFailed as refusal:
        raise PreflightFailed(f"--twin {name} must take what the model takes: {refusal}") from refusal
    scores = scores_layer(layers_on(own, sample)) if watching.twin_gradients else None
    return plain_target(own, inputs, output, scores)


def watched_target(subject: Subject, watch: Watch) -> DifferentiableTarget:
    """A model that takes any number of inputs, even if it accepts just one batch size itself."""
    target = subject.target(watch)
    return target if subject.batch is None else InChunks(target, subject.batch)


def check_takes(option: str, subject: Subject, inputs: InputOptions, sample: Tensor) -> None:
    """Refuses another model of the same task that accepts none of what the first one does."""
    target = plain_target(subject, inputs)
    tried = [attempt(partial(target.predict, seed)) for seed in sample.split(1)]
    crashes = [one for one in tried if isinstance(one, Crash)]
    if len(crashes) == len(tried):
        reason = f"{crashes[0].error}: {crashes[0].message}"
        raise UsageError(f"{option} fails on the seeds ({reason}): give models of the same task")


def _watched(watching: Instrumentation, subject: Subject, sample: Tensor) -> tuple[DifferentiableTarget, Instrumented]:
    """One model, as a target and with what is known of it."""
    layers = layers_on(subject, sample)
    watch = _watch(watching, layers)
    own = watched_target(subject, watch)
    return own, Instrumented(
        target=own,
        gradients=own,
        layers=[*watch.layers],
        novelty_layers=[*watch.layers] if watching.options.layers else before_softmax(layers),
        incoming=subject.incoming(layers),
        belongs_to=_owner_of_profile(subject, watch),
        digest=subject.digest,
        outputs=outputs_on(subject, sample),
        traits=traits_on(subject, sample),
        embedding=None if sample.is_floating_point() else subject.embedding(as_batch(subject, sample[:1])),
    )


def _watch(watching: Instrumentation, layers: Sequence[Layer]) -> Watch:
    """What is looked at while a model of these layers runs."""
    options, inputs = watching.options, watching.inputs
    return Watch(
        matching(layers, options.layers) if options.layers and layers else _usually_watched(watching, layers),
        options.units,
        watching.extremes,
        inputs.mean,
        inputs.std,
        _metadata(options.metadata),
        options.gradients,
        scores_layer(layers),
        options.output,
    )


def _usually_watched(watching: Instrumentation, layers: Sequence[Layer]) -> list[str]:
    """The layers that are watched where the user names none."""
    if watching.counted is None:
        return working(layers)
    return speaking(layers) if watching.counted == EVERY_LAYER else activated(layers)


def _owner_of_profile(subject: Subject, watch: Watch) -> dict[str, Any]:
    """What a profile of the model says it is of."""
    return {
        "weights": subject.digest,
        "architecture": subject.architecture,
        "units": watch.units,
        "mean": watch.mean,
        "std": watch.std,
        "layers": [*watch.layers],
    }


def _side_by_side(members: Sequence[tuple[DifferentiableTarget, Instrumented]]) -> Instrumented:
    """Several models of one task as one target."""
    panel, known = Panel([target for target, _ in members]), [one for _, one in members]
    return replace(
        known[0],
        target=panel,
        gradients=panel,
        digest="".join(one.digest for one in known),
        layers=[layer_name(number, name) for number, one in enumerate(known) for name in one.layers],
        incoming={
            layer_name(number, name): strength
            for number, one in enumerate(known)
            for name, strength in one.incoming.items()
        },
    )


def _metadata(spec: str | None) -> Metadata | None:
    if spec is None:
        return None
    if not names_object(spec):
        raise UsageError(f"--metadata {spec}: give FILE.py:function")
    function = find_object(spec)
    if not callable(function):
        raise UsageError(f"--metadata {spec} is not a function")
    return function
