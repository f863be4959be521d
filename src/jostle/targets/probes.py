"""Reading a layer's output while the model runs, reduced to one row of neurons per input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from jostle.targets.values import first_tensor

Reduction = Callable[[nn.Module, Tensor], Tensor]

CHANNELS_FIRST_1D = (nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d, nn.MaxPool1d, nn.AvgPool1d, nn.AdaptiveAvgPool1d)


def channel_means(module: nn.Module, output: Tensor) -> Tensor:
    """The mean of each channel [batch, channels] (DeepXplore's neuron), finite exactly where the output is."""
    if output.ndim <= 2:
        return output.flatten(1) if output.ndim == 2 else output[:, None]
    sequence = output.ndim == 3 and not isinstance(module, CHANNELS_FIRST_1D)
    rest = [1] if sequence else list(range(2, output.ndim))
    means = output.mean(rest)
    # A sum of large finite values overflows float32; in double it cannot, so infinity stays the layer's own.
    return means if torch.isfinite(means.sum()) else output.double().mean(rest).to(output.dtype)


def every_unit(module: nn.Module, output: Tensor) -> Tensor:
    """Every unit as a neuron of its own, [batch, units]."""
    return output.flatten(1) if output.ndim > 1 else output[:, None]


class Probes:
    """Permanent hooks on the named layers; what they saw since the last `collect` waits there."""

    def __init__(self, module: nn.Module, names: Sequence[str], reduction: Reduction):
        self._seen: dict[str, Tensor] = {}
        self._calls: Counter[str] = Counter()
        self._reduction = reduction
        for name in names:
            module.get_submodule(name).register_forward_hook(
                lambda layer, _, output, name=name: self._see(name, layer, output)
            )

    def _see(self, name: str, layer: nn.Module, output: object) -> None:
        value = first_tensor(output)
        if value is None:
            return
        # A layer that is called again, such as a shared ReLU, is a layer of its own each time.
        self._calls[name] += 1
        again = "" if self._calls[name] == 1 else f"#{self._calls[name]}"
        self._seen[f"{name}{again}"] = self._reduction(layer, value.detach()).cpu()

    def collect(self) -> dict[str, Tensor]:
        """Activations by layer in the order they were computed, [batch, neurons]; forgets them."""
        seen = dict(self._seen)
        self._seen.clear()
        self._calls.clear()
        return seen
