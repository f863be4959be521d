"""Activations as DeepXplore compares them: scaled to 0..1 over all values that a layer takes for one input."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from jostle.profile import Layers

ROUNDING = 1e-6  # relative: a mean of equal values may differ from them by this much


def layer_numbers(layers: Layers) -> Tensor:
    """[neurons] which layer each neuron belongs to."""
    return torch.repeat_interleave(torch.tensor([size for _, size in layers], dtype=torch.int64))


def extremes_in(extremes: Mapping[str, Tensor], layers: Layers, batch: int) -> Tensor:
    """[batch, layers, 2] smallest and largest value, 0 for a layer that did not run."""
    absent = torch.zeros(1, 1).expand(batch, 2)
    return torch.stack([extremes.get(name, absent).float() for name, _ in layers], 1)


def spans(extremes: Tensor, layer_of: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest value of each neuron's layer [batch, neurons] and how far that layer spans, infinity if nowhere."""
    smallest, largest = extremes.unbind(2)
    span = largest - smallest
    span = torch.where(span > ROUNDING * torch.maximum(largest.abs(), smallest.abs()), span, torch.inf)
    return smallest[:, layer_of], span[:, layer_of]


def scaled(values: Tensor, extremes: Tensor, layer_of: Tensor) -> Tensor:
    """Activations [batch, neurons] as shares of their layer's span; 0 where a layer has none."""
    smallest, span = spans(extremes, layer_of)
    return (values - smallest) / span
