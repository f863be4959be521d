"""What a model is that a runtime of its own executes on arrays: ONNX, Keras, LiteRT, OpenVINO, SavedModel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from jostle.errors import ModelRefused
from jostle.subjects.layers import Layer
from jostle.subjects.twin_making import TwinMaking

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]  # by name, each [batch, ...]


@dataclass(frozen=True)
class Slot:
    """An input that a model takes, or an output that it gives."""

    name: str
    shape: tuple[int | None, ...]  # with the batch; None where any size will do
    dtype: np.dtype[Any]

    @property
    def row(self) -> tuple[int | None, ...]:
        """Its shape without the batch."""
        return self.shape[1:]

    def __str__(self) -> str:
        sizes = "×".join("any" if size is None else str(size) for size in self.shape)
        return f"{self.name} {self.dtype} [{sizes}]"


@dataclass(frozen=True)
class ModelRun:
    """What a model did with a batch."""

    outputs: Arrays
    activations: Arrays = field(default_factory=dict)  # by layer, [batch, neurons]
    extremes: Arrays = field(default_factory=dict)  # by layer, [batch, 2] smallest and largest of all values


@dataclass(frozen=True)
class LayerWatch:
    """What a session looks at besides the outputs."""

    layers: Sequence[str] = ()
    every_unit: bool = False  # every unit is a neuron, else the mean of a channel
    extremes: bool = False  # the smallest and the largest value of each layer too


OUTPUTS_ALONE = LayerWatch()
Session = Callable[[Arrays], ModelRun]


@dataclass(frozen=True)
class Pass:
    """A forward pass that can be differentiated once."""

    ran: ModelRun  # activations of it are those that the pull takes weights of
    pull: Callable[[Arrays, Arrays], Array]
    """Weights of outputs and of activations, in their shapes, to the gradient by the first input [batch, ...]."""


class ArrayModel(Protocol):
    """A model file, opened by its runtime."""

    @property
    def inputs(self) -> tuple[Slot, ...]: ...

    @property
    def outputs(self) -> tuple[Slot, ...]: ...

    @property
    def runtime(self) -> str:
        """What runs it, as `--engine` calls it."""

    @property
    def twins(self) -> tuple[str, ...]:
        """The names of those that can be made of it."""

    @property
    def digest(self) -> str:
        """Equal for equal files."""

    @property
    def architecture(self) -> str:
        """Equal for models of the same structure."""

    @property
    def over_batch(self) -> tuple[str, ...]:
        """Layers that take the scale of their numbers from the whole batch."""

    @property
    def candidates(self) -> tuple[Layer, ...]:
        """What may be watched, in order; what turns out to give no floating-point row per input is no layer."""

    def session(self, watch: LayerWatch = OUTPUTS_ALONE) -> Session:
        """Runs batches, and looks at what it is asked for."""

    def raw(self, layers: Sequence[str]) -> Callable[[Arrays], Arrays]:
        """What these layers give for a batch, as it is."""

    def linearised(self, watch: LayerWatch) -> Callable[[Arrays], Pass]:
        """Forward passes that can be differentiated; ModelRefused where the runtime gives no gradients."""

    def twin(self, name: str, sample: Arrays, making: TwinMaking) -> Path | None:
        """The file of the twin of this name, made from inputs of the sample; None if there is no such twin."""


@runtime_checkable
class CountsWeights(Protocol):
    """A model that can tell how many numbers in it were learnt."""

    @property
    def weights(self) -> int: ...


def no_gradients(runtime: str) -> ModelRefused:
    """What to use instead of gradients, which a runtime does not give."""
    return ModelRefused(
        f"{runtime} gives no gradients: use --recipe tensorfuzz or deephunter, which need none, or --coverage gap "
        f"beside a twin"
    )


def neurons(values: Array, channels_last: bool, every_unit: bool) -> Array:
    """What a layer gives [batch, ...] as neurons [batch, neurons]: every unit, or the mean of each channel."""
    if every_unit or values.ndim <= 2:
        return values.reshape(len(values), -1)
    rest = tuple(range(1, values.ndim - 1)) if channels_last else tuple(range(2, values.ndim))
    tensor = torch.from_numpy(np.ascontiguousarray(values))  # because numpy is many times slower over channels last
    means = (tensor.float() if tensor.dtype == torch.float16 else tensor).mean(rest)
    # A sum of large finite values overflows float32; in double it cannot, so infinity stays the layer's own.
    found = means if torch.isfinite(means.sum()) else tensor.double().mean(rest).to(means.dtype)
    reduced: Array = found.numpy()
    return reduced


def finite(values: Array) -> bool:
    """Whether all values are finite, but for very large ones, whose sum is not."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def ends(values: Array) -> Array:
    """The smallest and the largest [batch, 2] of all that a layer gives [batch, ...]."""
    flat = values.reshape(len(values), -1)
    return np.stack([flat.min(1), flat.max(1)], 1)
