"""What a subject is: a model that a user named, whatever runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from jostle.interfaces import DifferentiableTarget, ModelTarget
from jostle.layout import Layout
from jostle.options.campaign import CHANNEL_MEANS
from jostle.subjects.layers import Layer
from jostle.subjects.tokenizer import TextEncoder
from jostle.subjects.twin_making import TwinMaking
from jostle.traits import Traits

# (inputs, outputs, labels) -> values by name, each [batch, ...]; several inputs are a dict of them
Metadata = Callable[[Any, Tensor, Tensor], Mapping[str, Tensor]]


@dataclass(frozen=True)
class Watch:
    """What is watched while a subject runs, and how inputs are prepared for it."""

    layers: Sequence[str] = ()
    units: str = CHANNEL_MEANS
    extremes: bool = False  # the smallest and the largest value of each layer too
    mean: Sequence[float] = ()  # per channel, subtracted before the model
    std: Sequence[float] = ()  # per channel, divided by before the model
    metadata: Metadata | None = None
    gradients: bool = False  # of the metadata by the inputs
    scores: str | None = None  # the layer that gives class scores, where the model itself ends in softmax
    output: str | None = None  # the tensor that carries the answer, where the model returns several


OUTPUTS_ONLY = Watch()
TORCH = "torch"  # the engine that runs torch modules and functions


@dataclass(frozen=True)
class TakenInput:
    """An input that a model takes, as far as the model tells."""

    name: str
    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None  # without the batch; None where any size will do


@dataclass(frozen=True)
class Description:
    """What a model tells of itself before it runs."""

    inputs: tuple[TakenInput, ...]
    weights: int | None = None  # how many numbers in it were learnt, where that is known
    engine: str = TORCH  # what runs it
    twins: tuple[str, ...] = ()  # that can be made of it


class Trainable(Protocol):
    """A copy of a model that can be trained further and saved."""

    @property
    def target(self) -> ModelTarget: ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Of files that it can be saved to."""

    def train(self, batches: Iterable[tuple[Tensor, Tensor]], rate: float) -> None:
        """Takes a step on each batch of inputs [batch, ...] and labels [batch]."""

    def saved(self, suffix: str, sample: Tensor) -> bytes:
        """The content of a file with this suffix; the sample [1, ...] is an input of the model."""


@runtime_checkable
class Subject(Protocol):
    """A model: what it does, which layers it has, and what can be made of it."""

    @property
    def batch(self) -> int | None:
        """The only batch size that it accepts, None if it accepts any."""

    @property
    def digest(self) -> str:
        """Equal for models with equal weights."""

    @property
    def architecture(self) -> str:
        """Equal for models of the same structure."""

    def described(self) -> Description:
        """What it takes, and how large it is."""

    def of_batch(self, size: int) -> Subject:
        """The same, known to accept this batch size only."""

    def traits(self, sample: Tensor) -> Traits:
        """How it treats a batch such as the sample [batch, ...]; what the model raises, this raises."""

    def outputs(self, sample: Tensor) -> dict[str, list[int]]:
        """By name the shapes of all that it returns for the sample [batch, ...]; what the model raises, this raises."""

    def layers(self, sample: Tensor) -> list[Layer]:
        """The layers that run on the sample [batch, ...], in order; what the model raises, this raises."""

    def incoming(self, layers: Sequence[Layer]) -> dict[str, Tensor]:
        """By layer, how strong the weights into each neuron are [neurons]."""

    def embedding(self, sample: Tensor) -> Tensor | None:
        """The rows [vocabulary, dimensions] among which it looks up tokens of the sample [batch, length], if any."""

    def target(self, watch: Watch = OUTPUTS_ONLY) -> DifferentiableTarget:
        """The model as a target."""

    def taking(self, layout: Layout | None) -> Subject:
        """The same model, given several inputs in one row if there is a layout, else one.

        ModelRefused where they are not those that it takes.
        """

    def channels_last(self) -> Subject:
        """The same model, which is given images with their channels last."""

    def twin(self, name: str, making: TwinMaking) -> Subject | Path | None:
        """A changed copy by its name, or the file that it was written to; None if such a model has no such twin."""

    def reading(self, encoder: TextEncoder) -> Subject:
        """The same model, which is given texts as tokens that the encoder makes of them."""

    def with_weights(self, path: Path) -> Subject:
        """A copy with the weights of a file."""

    def trainable(self, watch: Watch = OUTPUTS_ONLY) -> Trainable:
        """A copy to be trained; ModelRefused where this kind of model cannot be."""


@dataclass(frozen=True)
class Loading:
    """How a model file is to be loaded."""

    trusted: bool = False  # consent to execute what the file holds
    engine: str | None = None  # what shall run it, where several can
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs without the batch; "" of the only


@dataclass(frozen=True)
class SubjectKind:
    """A kind of model: how its files and its Python objects are recognised, and how they become subjects."""

    name: str
    recognises: Callable[[Path], bool] = lambda path: False
    load: Callable[[Path, Loading], Subject] | None = None
    engines: tuple[str, ...] = ()  # that can run it, the usual one first
    wrap: Callable[[object], Subject | None] = lambda found: None
    twins: Mapping[str, str] = field(default_factory=dict)  # by name, in a few words what each does
    family: str = ""  # what kinds are called together that have the same twins, if not by this one's name
