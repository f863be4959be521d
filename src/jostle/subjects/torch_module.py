"""Torch modules as subjects."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from jostle.digests import digest_of, digest_of_text
from jostle.errors import ModelRefused
from jostle.foreign import Crash, attempt
from jostle.layout import Layout
from jostle.subjects.arguments import Arguments, PackedArguments, Parameters, check_takes_one
from jostle.subjects.layers import Layer
from jostle.subjects.preparation import ChannelsLast
from jostle.subjects.subject import OUTPUTS_ONLY, Description, Subject, SubjectKind, TakenInput, Trainable, Watch
from jostle.subjects.text_arguments import TextArguments
from jostle.subjects.tokenizer import TextEncoder
from jostle.subjects.torch_arguments import parameters_of
from jostle.subjects.torch_converted import OF_FILES, Source, converted
from jostle.subjects.torch_embedding import embedding_matrix
from jostle.subjects.torch_export import calling_itself_by
from jostle.subjects.torch_layers import incoming_weights, layers_of
from jostle.subjects.torch_target import TorchTarget
from jostle.subjects.torch_training import TorchTrainable
from jostle.subjects.torch_traits import traits_of
from jostle.subjects.torch_twins import IN_MEMORY, twin_named
from jostle.subjects.torch_weights import fill
from jostle.subjects.twin_making import TwinMaking, made_or_refused
from jostle.traits import Traits

COMPILED = (4, 1)  # rows that a twin is compiled for at once: one row alone is compiled for itself


@dataclass(frozen=True)
class TorchSubject:
    """A module ready to run, and how to get another one that is the caller's own to change."""

    module: nn.Module
    copy: Callable[[], nn.Module]
    batch: int | None = None
    parameters: Parameters | None = None  # where they are not those of its signature
    arguments: Arguments | None = None  # how inputs reach it that are not one tensor to it
    taken: tuple[TakenInput, ...] = ()  # what is known of inputs besides their names

    @property
    def digest(self) -> str:
        values = self.module.state_dict().values()
        return digest_of(*(value for value in values if isinstance(value, Tensor)))  # quantised layers hold more

    @property
    def architecture(self) -> str:
        return digest_of_text(str(self.module))

    def described(self) -> Description:
        needed = [name for name in self._parameters.names if name in self._parameters.required]
        taken = self.taken or tuple(TakenInput(name) for name in needed or self._parameters.names[:1])
        weights = sum(weight.numel() for weight in self.module.parameters())
        return Description(taken, weights, twins=tuple(TORCH_TWINS))

    def of_batch(self, size: int) -> Subject:
        return replace(self, batch=size)

    def traits(self, sample: Tensor) -> Traits:
        positional, named = self.target().prepared(sample)
        seen = traits_of(self.module, *positional, **named)
        return replace(seen, one_by_one=self.batch == 1)

    def outputs(self, sample: Tensor) -> dict[str, list[int]]:
        with torch.no_grad():
            target = self.target()
            tensors = target.outputs(target.own(sample))
        return {name: list(tensor.shape) for name, tensor in tensors.items()}

    def layers(self, sample: Tensor) -> list[Layer]:
        target = self.target()
        return layers_of(self.module.eval(), target.own(sample), self.arguments, target.dtype)

    def incoming(self, layers: Sequence[Layer]) -> dict[str, Tensor]:
        return incoming_weights(self.module, layers)

    def embedding(self, sample: Tensor) -> Tensor | None:
        return embedding_matrix(self.module, sample) if self.arguments is None else None

    def target(self, watch: Watch = OUTPUTS_ONLY) -> TorchTarget:
        return self._target(self.module, watch)

    def taking(self, layout: Layout | None) -> Subject:
        if layout is not None:
            return replace(self, arguments=PackedArguments.fitting(layout, self._parameters))
        if self.arguments is None:
            check_takes_one(self._parameters)
        return self

    def channels_last(self) -> Subject:
        return replace(self, arguments=ChannelsLast())

    def reading(self, encoder: TextEncoder) -> Subject:
        return replace(self, arguments=TextArguments.fitting(encoder, self._parameters))

    @property
    def _parameters(self) -> Parameters:
        return self.parameters or parameters_of(self.module)

    def twin(self, name: str, making: TwinMaking) -> Subject | Path | None:
        def some(size: int) -> Tensor:
            return making.sample[torch.arange(size) % len(making.sample)]

        prepared = self.target(Watch(mean=making.mean, std=making.std)).prepared
        source = Source(self._copy, prepared, lambda: list(self.outputs(some(self.batch or 1))), self.batch)
        if (file := converted(name, source, making)) is not None:
            return file
        calls = [prepared(some(size)) for size in (COMPILED if self.batch is None else (self.batch,))]
        module = made_or_refused(name, lambda: twin_named(name, self.copy, calls, making.seed))
        return None if module is None else replace(self, module=module, parameters=self._parameters)  # it may hide them

    def _copy(self) -> nn.Module:
        """A copy whose signature tells its parameters."""
        return self.copy() if self.parameters is None else calling_itself_by(self.copy(), self.parameters)

    def with_weights(self, path: Path) -> Subject:
        """A copy, so that nothing else that the user's code built changes with it."""
        if not self.module.state_dict():
            raise ModelRefused(f"--weights {path} needs a torch module, and this is a function: leave it out")
        module = attempt(self.copy)
        if isinstance(module, Crash):
            raise ModelRefused(f"the model cannot be copied to take --weights: {module.error}: {module.message}")
        fill(module, path)
        return of_module(module)

    def trainable(self, watch: Watch = OUTPUTS_ONLY) -> Trainable:
        module = self.copy()
        return TorchTrainable(module, self._target(module, watch))

    def _target(self, module: nn.Module, watch: Watch) -> TorchTarget:
        return TorchTarget(
            module,
            watch.layers,
            watch.units,
            watch.mean,
            watch.std,
            watch.metadata,
            watch.gradients,
            watch.extremes,
            watch.scores,
            watch.output,
            self.arguments,
        )


def of_module(module: nn.Module) -> TorchSubject:
    """A module as a subject; copies are deep ones."""
    return TorchSubject(module, lambda: copy.deepcopy(module))


def _wrapped(found: object) -> Subject | None:
    return of_module(found) if isinstance(found, nn.Module) else None


TORCH_TWINS = {**IN_MEMORY, **OF_FILES}
TORCH_MODULE = SubjectKind("torch module", wrap=_wrapped, twins=TORCH_TWINS, family="torch")
