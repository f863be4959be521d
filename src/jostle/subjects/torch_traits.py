"""How a torch module treats its batch: what its layers tell of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from jostle.traits import Traits

DYNAMIC = ".quantized.dynamic."  # in the module path of torch's layers that quantise what they are given


def traits_of(module: nn.Module, *inputs: Tensor, **named: Tensor) -> Traits:
    """The traits of a module that runs on these inputs [batch, ...] of its own; what it raises, this raises."""
    changes_input = _changes(module.eval(), inputs, named)  # run first, because a model may change its mode as it runs
    return Traits(
        in_training=any(child.training for child in module.modules()),
        over_batch=tuple(_over_batch(module)),
        quantised=tuple(_told(*one) for one in module.named_modules() if DYNAMIC in type(one[1]).__module__),
        changes_input=changes_input,
    )


def _over_batch(module: nn.Module) -> Iterator[str]:
    """Layers that take mean and variance from the batch: in training mode, or without those of the training data."""
    for name, child in module.named_modules():
        if isinstance(child, _BatchNorm) and (child.training or child.running_mean is None):
            yield _told(name, child)


def _changes(module: nn.Module, inputs: Sequence[Tensor], named: Mapping[str, Tensor]) -> bool:
    """Whether the module writes into its inputs: torch counts writes, and numpy's show in the values."""
    before = [(sample, sample.clone(), sample._version) for sample in (*inputs, *named.values())]
    with torch.no_grad():
        module(*inputs, **named)
    return any(sample._version != version or not torch.equal(sample, was) for sample, was, version in before)


def _told(name: str, child: nn.Module) -> str:
    return f"{name or 'the model'} ({type(child).__name__})"
