"""A model that a runtime of its own executes on arrays, as a target."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.options.campaign import EVERY_UNIT
from jostle.records import MODEL, Candidates, Linearised, Outcome, Trace
from jostle.subjects.array_inputs import InputArrays
from jostle.subjects.array_model import Array, ArrayModel, Arrays, LayerWatch, ModelRun, Pass
from jostle.subjects.preparation import Normalisation, answer_of, observed, scores_of
from jostle.subjects.subject import Watch
from jostle.subjects.values import answer_among


class ArrayTarget:
    """Runs an opened model on inputs in the user's value range; what its runtime raises, this raises."""

    def __init__(self, model: ArrayModel, given: InputArrays, watch: Watch):
        if watch.gradients:
            raise UsageError("--gradients needs a torch model, whose metadata can be differentiated: leave it out")
        self._model, self._given, self._watch = model, given, watch
        self._normalisation = Normalisation(watch.mean, watch.std, torch.empty(0))
        self._layer_watch = LayerWatch(tuple(watch.layers), watch.units == EVERY_UNIT, watch.extremes)
        self._passes: dict[bool, Callable[[Arrays], Pass]] = {}  # that can be differentiated, with extremes or without
        self._plain = model.session()
        self._watching = model.session(self._layer_watch) if self._layer_watch.layers else self._plain

    def predict(self, inputs: Tensor) -> Tensor:
        return answer_of(named(self._plain(self.arrays(inputs)).outputs), len(inputs), self._watch.output)[0]

    def run(self, batch: Candidates, watched: bool = True) -> Trace:
        arrays = self.arrays(batch.inputs)
        started = time.perf_counter()
        ran = (self._watching if watched else self._plain)(arrays)
        seconds = time.perf_counter() - started
        answer, others = answer_of(named(ran.outputs), len(batch), self._watch.output)
        return Trace(
            outcome=torch.full((len(batch),), Outcome.OK),
            outputs={MODEL: answer},
            others=others,
            activations=tensors(ran.activations),
            extremes=tensors(ran.extremes),
            metadata=self._observed(batch, answer),
            seconds={MODEL: seconds},
        )

    def linearise(self, inputs: Tensor, extremes: bool = False) -> Linearised:
        if not inputs.is_floating_point():
            raise UsageError(
                "gradients by tokens need a torch model with an embedding: use a mutator without gradients"
            )
        own = inputs.detach().clone().requires_grad_()
        with torch.enable_grad():
            prepared = self._given.of(self._normalisation.of(own))  # torch differentiates what we do to inputs
        passed = self._linear(extremes and self._layer_watch.extremes)(arrays_of(prepared))
        activations, last = tensors(passed.ran.activations), self._watch.scores or ""
        answer, _ = answer_of(named(passed.ran.outputs), len(inputs), self._watch.output)
        scores = scores_of(answer, activations[last]) if last in activations else answer

        def pull(score_weights: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> Tensor:
            by_output: dict[str, Tensor] = {}
            by_layer = {layer: weight for layer, weight in weights.items() if layer in activations}
            for weight in score_weights.values():
                if scores is answer:
                    by_output[self._answered(passed.ran)] = weight
                else:  # they are those of the layer before a softmax, which may be watched too
                    by_layer[last] = by_layer[last] + weight if last in by_layer else weight
            gradient = torch.from_numpy(passed.pull(arrays_of(by_output), arrays_of(by_layer)))
            (pulled,) = torch.autograd.grad(next(iter(prepared.values())), own, gradient)
            return pulled

        seen = self._asked_for(activations), self._asked_for(tensors(passed.ran.extremes))
        return Linearised({MODEL: scores}, *seen, pull)

    def _linear(self, extremes: bool) -> Callable[[Arrays], Pass]:
        """Forward passes that look at the layer that gives scores too."""
        if extremes not in self._passes:
            layers = dict.fromkeys((*self._layer_watch.layers, *filter(None, (self._watch.scores,))))
            self._passes[extremes] = self._model.linearised(
                replace(self._layer_watch, layers=tuple(layers), extremes=extremes)
            )
        return self._passes[extremes]

    def _asked_for(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Values of layers that are watched; one that ran again has a number behind its name."""
        layers = set(self._layer_watch.layers)
        return {name: value for name, value in values.items() if name in layers or name.rpartition("#")[0] in layers}

    def _answered(self, ran: ModelRun) -> str:
        """The name of the output that carries the answer."""
        return answer_among(named(ran.outputs), self._watch.output) or next(iter(ran.outputs))

    def arrays(self, inputs: Tensor) -> Arrays:
        """What the model is given for inputs in the user's value range."""
        return arrays_of(self._given.of(self._normalisation.of(inputs)))

    def _observed(self, batch: Candidates, answer: Tensor) -> dict[str, Tensor]:
        if self._watch.metadata is None:
            return {}
        return observed(self._watch.metadata, self._given.seen(batch.inputs), answer, batch.labels)


def arrays_of(tensors_by_name: Mapping[str, Tensor]) -> dict[str, Array]:
    return {name: value.detach().numpy() for name, value in tensors_by_name.items()}


def tensors(arrays: Arrays) -> dict[str, Tensor]:
    """Arrays as tensors, which share their memory; half precision is widened, which torch computes slowly with."""
    return {name: _tensor(value) for name, value in arrays.items()}


def named(outputs: Arrays) -> dict[str, Tensor]:
    """All outputs as tensors; one alone needs no name."""
    made = tensors(outputs)
    return {"": next(iter(made.values()))} if len(made) == 1 else made


def _tensor(value: Array) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(value.astype(np.float32) if value.dtype == np.float16 else value))
