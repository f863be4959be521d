"""Models that a runtime of its own executes on arrays, as subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from jostle.errors import ModelRefused
from jostle.layout import Layout
from jostle.subjects.array_inputs import InputArrays
from jostle.subjects.array_model import ArrayModel, CountsWeights
from jostle.subjects.array_target import ArrayTarget, named
from jostle.subjects.layers import Layer
from jostle.subjects.subject import OUTPUTS_ONLY, Description, Subject, TakenInput, Trainable, Watch
from jostle.subjects.tokenizer import TextEncoder
from jostle.subjects.twin_making import TwinMaking
from jostle.traits import Traits


@dataclass(frozen=True)
class ArraySubject:
    """An opened model file, and how rows of inputs reach it."""

    model: ArrayModel
    given: InputArrays
    batch: int | None = None

    @staticmethod
    def of_model(model: ArrayModel) -> ArraySubject:
        """The model as it says of itself; ModelRefused where it takes something that cannot be fuzzed."""
        given = InputArrays.of_slots(model.inputs)
        return ArraySubject(model, given, model.inputs[0].shape[0])

    @property
    def digest(self) -> str:
        return self.model.digest

    @property
    def architecture(self) -> str:
        return self.model.architecture

    def described(self) -> Description:
        taken = (TakenInput(slot.name, str(slot.dtype), slot.row) for slot in self.model.inputs)
        weights = self.model.weights if isinstance(self.model, CountsWeights) else None
        return Description(tuple(taken), weights, self.model.runtime, self.model.twins)

    def of_batch(self, size: int) -> Subject:
        return replace(self, batch=size)

    def traits(self, sample: Tensor) -> Traits:
        return Traits(quantised=self.model.over_batch, one_by_one=self.batch == 1)

    def outputs(self, sample: Tensor) -> dict[str, list[int]]:
        target = self.target()
        tensors = named(self.model.session()(target.arrays(sample)).outputs)
        return {name: list(tensor.shape) for name, tensor in tensors.items()}

    def layers(self, sample: Tensor) -> list[Layer]:
        candidates = {layer.name: layer for layer in self.model.candidates}
        seen = self.model.raw(list(candidates))(self.target().arrays(sample))
        return [
            replace(candidates[name], shape=value.shape[1:])
            for name, value in seen.items()
            if value.dtype.kind == "f" and value.shape[:1] == (len(sample),) and value.size
        ]

    def incoming(self, layers: Sequence[Layer]) -> dict[str, Tensor]:
        return {layer.name: torch.empty(0) for layer in layers}

    def embedding(self, sample: Tensor) -> Tensor | None:
        return None

    def target(self, watch: Watch = OUTPUTS_ONLY) -> ArrayTarget:
        return ArrayTarget(self.model, self.given, watch)

    def taking(self, layout: Layout | None) -> Subject:
        return replace(self, given=self.given.taking(layout))

    def channels_last(self) -> Subject:
        return replace(self, given=self.given.channels_last())

    def reading(self, encoder: TextEncoder) -> Subject:
        return replace(self, given=self.given.reading(encoder))

    def twin(self, name: str, making: TwinMaking) -> Subject | Path | None:
        arrays = self.target(Watch(mean=making.mean, std=making.std)).arrays(making.sample)
        return self.model.twin(name, arrays, making)

    def with_weights(self, path: Path) -> Subject:
        raise ModelRefused(f"--weights {path} is for a model given as FILE.py:function: a model file brings its own")

    def trainable(self, watch: Watch = OUTPUTS_ONLY) -> Trainable:
        raise ModelRefused("a model file of this kind cannot be trained: give FILE.py:function or a .pt2 file")
