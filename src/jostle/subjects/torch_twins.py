"""Twins of torch modules: the same model computing or storing its numbers otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jostle.errors import UsageError
from jostle.subjects.arguments import Call
from jostle.subjects.torch_compiled import compiled
from jostle.subjects.twin_making import share_of_weights
from jostle.subjects.values import named_tensors, one_row_each


class InPrecision(nn.Module):
    """A module that computes in another floating-point type and answers in float32."""

    def __init__(self, module: nn.Module, dtype: torch.dtype):
        super().__init__()
        self._module = module.to(dtype)
        self._dtype = dtype

    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor | dict[str, Tensor]:
        own = self._module(*map(self._own, inputs), **{name: self._own(value) for name, value in named.items()})
        outputs = named_tensors(one_row_each(own, len(next(iter((*inputs, *named.values()))))))
        floats = {name: value.float() if value.is_floating_point() else value for name, value in outputs.items()}
        return floats[""] if floats.keys() == {""} else floats

    def _own(self, values: Tensor) -> Tensor:
        return values.to(self._dtype) if values.is_floating_point() else values


class Container(nn.Module):
    """A module as the only child of another."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, *inputs: Tensor, **named: Tensor) -> Any:
        return self.module(*inputs, **named)


def float16(own: nn.Module) -> nn.Module:
    """The model computing in IEEE half precision."""
    return InPrecision(own, torch.float16)


def bfloat16(own: nn.Module) -> nn.Module:
    """The model computing in bfloat16."""
    return InPrecision(own, torch.bfloat16)


def weights16(own: nn.Module) -> nn.Module:
    """The model with its weights rounded to 16 bit, computing in float32."""
    return some_weights16(own, 1.0, torch.Generator())


def some_weights16(own: nn.Module, share: float, rng: torch.Generator) -> nn.Module:
    """The model with a random share of its weights rounded to 16 bit (DeepHunter, §4.6)."""
    with torch.no_grad():
        for weights in own.parameters():
            chosen = torch.rand(weights.shape, generator=rng) < share
            weights.copy_(torch.where(chosen.to(weights.device), weights.half().to(weights.dtype), weights))
    return own


def int8(own: nn.Module) -> nn.Module:
    """The model with its linear layers dynamically quantised to int8."""
    if not any(isinstance(layer, nn.Linear) for layer in own.modules()):
        raise UsageError("--twin int8 quantises nn.Linear layers and the model has none: choose another twin")
    # In a container, because only children are replaced and the model may be a linear layer itself.
    twin: nn.Module = torch.ao.quantization.quantize_dynamic(Container(own), {nn.Linear}, dtype=torch.qint8)
    return twin


# Each makes the twin out of a copy of the model that is its own to change.
TWINS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "float16": float16,
    "bfloat16": bfloat16,
    "weights16": weights16,
    "int8": int8,
}
# A line on each twin that is not a file.
IN_MEMORY = {
    "float16": "computing in IEEE half precision",
    "bfloat16": "computing in bfloat16",
    "weights16": "weights rounded to 16 bit, computing in float32; weights16:50% rounds a random half",
    "int8": "linear layers dynamically quantised to int8",
    "compile": "compiled by torch.compile (Inductor)",
}


def twin_named(name: str, copy: Callable[[], nn.Module], calls: Sequence[Call], seed: int) -> nn.Module | None:
    """The twin of that name out of a copy of the model, None if there is no such name.

    Calls are examples of what the model is given, in batches of different sizes; the seed draws weights.
    """
    share = share_of_weights(name)
    if share is not None:
        return some_weights16(copy().eval(), share, torch.Generator().manual_seed(seed))
    if name == "compile":
        return compiled(copy(), calls)
    return TWINS[name](copy().eval()) if name in TWINS else None
