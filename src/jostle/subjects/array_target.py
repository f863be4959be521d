"""A model that a runtime of its own executes on arrays, as a target."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.options.campaign import EVERY_UNIT
from jostle.records import MODEL, Candidates, Linearised, Outcome, Trace
from jostle.subjects.array_inputs import InputArrays
from jostle.subjects.array_model import Array, ArrayModel, Arrays, Looks
from jostle.subjects.preparation import Normalisation, answer_of, observed
from jostle.subjects.subject import Watch
from jostle.subjects.values import answer_among


class ArrayTarget:
    """Runs an opened model on inputs in the user's value range; what its runtime raises, this raises."""

    def __init__(self, model: ArrayModel, given: InputArrays, watch: Watch):
        if watch.gradients:
            raise UsageError("--gradients needs a torch model, whose metadata can be differentiated: leave it out")
        self._model, self._given, self._watch = model, given, watch
        self._normalisation = Normalisation(watch.mean, watch.std, torch.empty(0))
        self._looks = Looks(tuple(watch.layers), watch.units == EVERY_UNIT, watch.extremes)
        self._plain = model.session()
        self._watching = model.session(self._looks) if self._looks.layers else self._plain

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
        looks = Looks(self._looks.layers, self._looks.every_unit, extremes and self._looks.extremes)
        own = inputs.detach().clone().requires_grad_()
        prepared = self._given.of(self._normalisation.of(own))  # so that torch differentiates what we do to inputs
        first = next(iter(prepared.values()))
        passed = self._model.linearised(looks)(arrays_of(prepared))
        outputs = named(passed.ran.outputs)
        answer, _ = answer_of(outputs, len(inputs), self._watch.output)
        answered = answer_among(outputs, self._watch.output) or next(iter(passed.ran.outputs))

        def pull(scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
            by_layer = {layer: weight.numpy() for layer, weight in activations.items()}
            gradient = passed.pull({answered: scores[MODEL].numpy()}, by_layer)
            (pulled,) = torch.autograd.grad(first, own, torch.from_numpy(np.ascontiguousarray(gradient)))
            return pulled

        return Linearised({MODEL: answer}, tensors(passed.ran.activations), tensors(passed.ran.extremes), pull)

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
