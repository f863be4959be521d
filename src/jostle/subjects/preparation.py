"""What is done to inputs before a model, and to what it returns after it, whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.foreign import NotOneRowPerInput, UnfitOutput
from jostle.subjects.arguments import Call
from jostle.subjects.subject import Metadata
from jostle.subjects.values import answer_among


class Normalisation:
    """Mean and deviation of each channel, taken off inputs in the user's value range."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], like: Tensor):
        self._mean, self._std = like.new_tensor(mean), like.new_tensor(std)

    def of(self, inputs: Tensor) -> Tensor:
        if not len(self._mean):
            return inputs
        per_channel = (1, -1) + (1,) * (inputs.ndim - 2)
        return (inputs - self._mean.view(per_channel)) / self._std.view(per_channel)


@dataclass(frozen=True)
class ChannelsLast:
    """Images [batch, channels, ...] that a model is given with their channels last."""

    def of(self, rows: Tensor, dtype: torch.dtype) -> Call:
        return (rows.movedim(1, -1).to(dtype).contiguous(),), {}

    def seen(self, rows: Tensor) -> Tensor:
        return rows


def answer_of(outputs: Mapping[str, Tensor], rows: int, wanted: str | None) -> tuple[Tensor, dict[str, Tensor]]:
    """The output that carries the answer, and all others that have one row per input, as floating-point numbers."""
    name = answer_among(outputs, wanted) if outputs else None
    answer = None if name is None else outputs[name]
    if answer is None or answer.shape[:1] != (rows,):
        shape = "no tensor" if answer is None else f"shape {list(answer.shape)}"
        raise NotOneRowPerInput(f"the output for a batch of {rows} has {shape}, not one row per input")
    check_plain(answer)
    others = {
        f"output.{other}": as_floats(value)
        for other, value in outputs.items()
        if other != name
        and value.shape[:1] == (rows,)
        and value.layout == torch.strided
        and not value.is_meta
        and not _computes_itself(value)
    }
    return as_floats(answer), others


def check_plain(answer: Tensor) -> None:
    """Refuses an answer that has no real numbers in memory."""
    if _computes_itself(answer):
        raise UnfitOutput(f"the output is a {type(answer).__name__}, not a plain tensor: return its values as one")
    if answer.layout != torch.strided or answer.is_nested:
        raise UnfitOutput("the output is a sparse tensor: return it with to_dense()")
    if answer.is_meta:
        raise UnfitOutput("the output is on the device meta, without values: load the model's weights")
    if answer.is_complex():
        raise UnfitOutput("the output holds complex numbers: return torch.view_as_real of it, or abs()")
    if not answer.numel():
        raise UnfitOutput(f"the output of shape {list(answer.shape)} holds no number: return one at least for an input")


def _computes_itself(values: Tensor) -> bool:
    """Whether the numbers are where only a class of its own can read them, as those of a quantised tensor."""
    return type(values).__torch_dispatch__ is not Tensor.__torch_dispatch__


def as_floats(values: Tensor) -> Tensor:
    """A plain tensor of numbers that torch computes with; of floats of one byte it can only store most."""
    with torch._C.DisableTorchFunctionSubclass():  # of a class of its own that makes something else of each call
        plain = values.as_subclass(Tensor)
    return plain if plain.is_floating_point() and plain.itemsize > 1 else plain.float()


def scores_of(outputs: Tensor, before: Tensor) -> Tensor:
    """What a final softmax was given, if that is what gave the outputs, else the outputs."""
    if before.shape == outputs.shape and outputs.ndim == 2:
        for last in (before.softmax(1), before.log_softmax(1)):
            if torch.allclose(last.detach().float(), outputs.detach().float(), rtol=1e-3, atol=1e-5):
                return before
    return outputs


def observed(metadata: Metadata, seen: object, outputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """The user's values for a batch, checked to have one row per input."""
    returned = metadata(seen, outputs, labels)
    if not isinstance(returned, Mapping):
        raise ValueError("--metadata must return a dict of name: one value per input, such as {'loss': loss}")
    for name, value in returned.items():
        if value.shape[:1] != outputs.shape[:1]:
            raise ValueError(f"the metadata {name!r} has shape {list(value.shape)}, not one row per input")
    return dict(returned)
