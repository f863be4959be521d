"""Reading a layer's output while the model runs, reduced to one row of neurons per input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod

import torch
from torch import Tensor, nn

from jostle.options.campaign import CHANNEL_MEANS, EVERY_UNIT
from jostle.subjects.torch_layers import stands_for
from jostle.subjects.values import first_tensor, named_tensors

Reduction = Callable[[nn.Module, Tensor], Tensor]

CHANNELS_FIRST_1D = (nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d, nn.MaxPool1d, nn.AvgPool1d, nn.AdaptiveAvgPool1d)


def channel_means(module: nn.Module, output: Tensor) -> Tensor:
    """The mean of each channel [batch, channels] (DeepXplore's neuron), finite exactly where the output is."""
    if output.ndim <= 2:
        return output.flatten(1) if output.ndim == 2 else output[:, None]
    sequence = output.ndim == 3 and not issubclass(stands_for(module), CHANNELS_FIRST_1D)
    rest = [1] if sequence else list(range(2, output.ndim))
    means = output.sum(rest) / prod(output.shape[place] for place in rest)  # mean() takes longer to differentiate
    # A sum of large finite values overflows float32; in double it cannot, so infinity stays the layer's own.
    return means if torch.isfinite(means.sum()) else output.double().mean(rest).to(output.dtype)


def every_unit(module: nn.Module, output: Tensor) -> Tensor:
    """Every unit as a neuron of its own, [batch, units]."""
    return output.flatten(1) if output.ndim > 1 else output[:, None]


REDUCTIONS: Mapping[str, Reduction] = {CHANNEL_MEANS: channel_means, EVERY_UNIT: every_unit}


@dataclass
class Seen:
    """What the layers did in one forward pass, by layer in the order they ran."""

    activations: dict[str, Tensor] = field(default_factory=dict)  # [batch, neurons]
    extremes: dict[str, Tensor] = field(default_factory=dict)  # [batch, 2] smallest and largest of all values
    entered: dict[str, Tensor] = field(default_factory=dict)  # the same of what went in; 0 where all is finite


class Probes:
    """What the named layers give while the module runs; between runs, nothing hangs on the module."""

    def __init__(self, module: nn.Module, names: Sequence[str], reduction: Reduction, extremes: bool = False):
        self._layers = {name: module.get_submodule(name) for name in names}
        self._reduction = reduction
        self._extremes = extremes

    @contextmanager
    def watching(self, differentiable: bool = False) -> Iterator[Seen]:
        """Fills what it gives with what the layers do until it ends, on request with the graph behind it."""
        seen, calls = Seen(), Counter[str]()

        def see(name: str, layer: nn.Module, inputs: tuple[object, ...], output: object) -> None:
            value = first_tensor(output)
            if value is None:
                return
            # A layer that is called again, such as a shared ReLU, is a layer of its own each time.
            calls[name] += 1
            called = name if calls[name] == 1 else f"{name}#{calls[name]}"
            self._note(seen, called, layer, value if differentiable else value.detach())
            if self._extremes:
                _note_extremes(seen, called, value.detach(), inputs)

        hooks = [
            layer.register_forward_hook(lambda layer, inputs, output, name=name: see(name, layer, inputs, output))
            for name, layer in self._layers.items()
        ]
        try:
            yield seen
        finally:
            for hook in hooks:
                hook.remove()

    def _note(self, seen: Seen, name: str, layer: nn.Module, value: Tensor) -> None:
        reduced = self._reduction(layer, value)
        seen.activations[name] = reduced.to("cpu", copy=_shared(reduced, value))  # the next layer may work in place


def _note_extremes(seen: Seen, name: str, output: Tensor, inputs: object) -> None:
    """Those of what a layer gives and, which only whoever looks for the origin of a NaN asks, of what it was given."""
    ends = seen.extremes[name] = _ends(output)
    if ends.isfinite().all():  # as nearly always, and looking takes time
        seen.entered[name] = torch.zeros_like(ends)
        return
    given = [one.detach() for one in named_tensors(inputs).values() if one.shape[:1] == output.shape[:1]]
    given = [one for one in given if one.numel()]
    if given and not any(_shared(one, output) for one in given):  # a layer that works in place has lost it
        low, high = torch.stack([_ends(one).to(ends.dtype) for one in given]).unbind(2)  # [inputs, batch]
        seen.entered[name] = torch.stack([low.amin(0), high.amax(0)], 1)


def _ends(values: Tensor) -> Tensor:
    """[batch, 2] smallest and largest of values [batch, ...]."""
    flat = values.reshape(len(values), -1)
    return torch.stack([flat.amin(1), flat.amax(1)], 1).cpu()  # torch's aminmax is ten times slower


def _shared(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
