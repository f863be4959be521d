"""A model and its twins seen from inside: how far apart they are in the layers that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from jostle.errors import ModelRefused
from jostle.foreign import attempt
from jostle.interfaces import Target
from jostle.options.campaign import CHANNEL_MEANS, EVERY_UNIT
from jostle.records import MODEL, NO_LABEL, LayerGaps, Seeds, Trace
from jostle.scores import are_probabilities
from jostle.subjects.instrument import Instrumentation, fitted, layers_on_one, traits_on, watched_target
from jostle.subjects.layer_matching import NamedLayer, matched
from jostle.subjects.subject import Subject, Watch

OUTPUT = "output"  # the name of what a model returns, where that is none of its layers
ROOM = 2**23  # values of all layers that are held at once


@dataclass(frozen=True)
class LayerRun:
    """A layer of a model, as it ran on one input."""

    named: NamedLayer
    watched: str  # what it is called to watch it: a layer that runs twice has two names and is watched by one
    channels_last: bool
    gives_output: bool  # it gives what the model returns


class TwinLayers:
    """Compares every unit of corresponding layers; models are opened once more when asked first, which takes memory."""

    def __init__(self, own: Subject, twins: Mapping[str, Subject], sample: Tensor, watching: Instrumentation):
        """Twins go by variant; layers are those that run on inputs of the sample [some, ...]."""
        self._own, self._twins, self._sample, self._watching = own, twins, sample, watching
        self._opened: dict[str, TwinPair | None] = {}

    def gaps(self, inputs: Tensor, variant: str) -> LayerGaps:
        if variant not in self._opened:
            self._opened[variant] = self._open(self._twins[variant])
        pair = self._opened[variant]
        return LayerGaps.none(len(inputs)) if pair is None else pair.gaps(inputs)

    def _open(self, twin: Subject) -> TwinPair | None:
        """Both models, watched in the layers that run on the first input that both accept; None if there are none."""
        inputs, output = self._watching.inputs, self._watching.options.output
        model, other = (
            OpenedModel(fitted(one, inputs, self._sample, output), self._sample, inputs.mean, inputs.std, output)
            for one in (self._own, twin)
        )
        for seed in self._sample.split(1):
            try:
                pair = attempt(partial(opened_pair, model, other, seed))
            except ModelRefused:  # by its runtime, once more leaves the graph
                continue
            if isinstance(pair, TwinPair):
                return pair if pair.layers else None
        return None


@dataclass(frozen=True)
class OpenedModel:
    """A model whose layers are compared with those of another."""

    subject: Subject
    sample: Tensor  # [some, ...]
    mean: Sequence[float]
    std: Sequence[float]
    output: str | None

    def watched(self, layers: Sequence[str], units: str = EVERY_UNIT) -> Target:
        """The model as a target; input by input where a batch would change what each of them gives."""
        watch = Watch(layers, units, mean=self.mean, std=self.std, output=self.output)
        alone = bool(traits_on(self.subject, self.sample).quantised)
        return watched_target(self.subject.of_batch(1) if alone else self.subject, watch)

    def runs(self, seed: Tensor) -> tuple[list[LayerRun], Tensor]:
        """All layers but softmax, which hides what differs, as they run on one input [1, ...]; and its output."""
        known = {layer.name: layer for layer in layers_on_one(self.subject, seed) if not layer.softmax}
        trace = ran(self.watched(list(known)), seed)
        output = trace.outputs[MODEL].flatten(1)
        means = ran(self.watched(list(known), CHANNEL_MEANS), seed).activations
        layers: list[LayerRun] = []
        for name, values in trace.activations.items():
            watched = name if name in known else name.rpartition("#")[0]
            aliases = known[name].aliases if name in known else ()
            named = NamedLayer(name, values.shape[1], means[name].shape[1], aliases)
            layers.append(LayerRun(named, watched, _channels_last(values, means[name]), torch.equal(values, output)))
        return layers, output


def opened_pair(model: OpenedModel, twin: OpenedModel, seed: Tensor) -> TwinPair:
    """Both, watched in the layers that correspond on one input [1, ...]."""
    (ours, output), (theirs, other_output) = model.runs(seed), twin.runs(seed)
    pairs = matched([one.named for one in ours], [one.named for one in theirs])
    layers = tuple((ours[first], theirs[second]) for first, second in pairs)
    known = any(one.gives_output and other.gives_output for one, other in layers)
    telling = output.shape == other_output.shape and not are_probabilities(output).any()
    return TwinPair(
        model.watched(list(dict.fromkeys(one.watched for one, _ in layers))),
        twin.watched(list(dict.fromkeys(one.watched for _, one in layers))),
        layers,
        with_output=telling and not known,
    )


@dataclass(frozen=True)
class TwinPair:
    """A model and a twin, watched in layers that correspond."""

    model: Target
    twin: Target
    layers: tuple[tuple[LayerRun, LayerRun], ...]
    with_output: bool  # it is compared too, as what stands after all layers

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        layers = tuple((one.named.name, other.named.name) for one, other in self.layers)
        return (*layers, (OUTPUT, OUTPUT)) if self.with_output else layers

    def gaps(self, inputs: Tensor) -> LayerGaps:
        rows = max(1, ROOM // sum(one.named.units for one, _ in self.layers))
        return LayerGaps.joined([self._gaps(some) for some in inputs.split(rows)])

    def _gaps(self, inputs: Tensor) -> LayerGaps:
        traces = ran(self.model, inputs), ran(self.twin, inputs)
        both = [(_values(traces[0], one), _values(traces[1], other)) for one, other in self.layers]
        if self.with_output:
            both.append((traces[0].outputs[MODEL].flatten(1), traces[1].outputs[MODEL].flatten(1)))
        measured = [_measured(ours, theirs, len(inputs)) for ours, theirs in both]
        gaps, sizes = (torch.stack(column, 1) for column in zip(*measured, strict=True))
        return LayerGaps(self.names, gaps, sizes)


def ran(target: Target, inputs: Tensor) -> Trace:
    """What a target does with inputs [batch, ...] of which nothing else is known."""
    count = len(inputs)
    return target.run(Seeds(inputs, torch.full((count,), NO_LABEL), ("",) * count).as_candidates())


def _values(trace: Trace, layer: LayerRun) -> Tensor | None:
    """What a layer gave [batch, units], channel by channel; None if it did not run, or gave something else."""
    values = trace.activations.get(layer.named.name)
    if values is None or values.shape[1] != layer.named.units:
        return None
    return values.unflatten(1, (-1, layer.named.channels)).mT.flatten(1) if layer.channels_last else values


def _measured(ours: Tensor | None, theirs: Tensor | None, rows: int) -> tuple[Tensor, Tensor]:
    """The gap between both [batch, units], and the size of the first, each [batch]."""
    if ours is None or theirs is None:
        return torch.full((rows,), torch.nan).double(), torch.full((rows,), torch.nan).double()
    ours, theirs = ours.double(), theirs.double()
    alike = (ours == theirs) | (ours.isnan() & theirs.isnan())
    gaps = torch.where(alike, 0.0, ours - theirs).square().mean(1).sqrt()
    return gaps.nan_to_num(nan=torch.inf, posinf=torch.inf), ours.square().mean(1).sqrt()


def _channels_last(values: Tensor, means: Tensor) -> bool:
    """Whether units [1, units] stand with the channels last whose means [1, channels] these are."""
    channels = means.shape[1]
    if values.shape[1] in (0, channels) or values.shape[1] % channels:
        return False
    first, last = values.double().unflatten(1, (channels, -1)).mean(2), values.double().unflatten(1, (-1, channels))
    expected = means.double()
    return _distance(last.mean(1), expected) < _distance(first, expected)


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().nan_to_num(0.0, 0.0, 0.0).sum())
