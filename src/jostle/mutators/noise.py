"""Bounded Gaussian noise."""

from __future__ import annotations

import torch

from jostle.errors import UsageError
from jostle.records import Candidates


class Noise:
    """Gaussian noise, clipped to the value range and, with a radius, to an L∞ ball around the root seed."""

    def __init__(self, sigma: float, low: float, high: float, radius: float | None = None):
        if not sigma > 0:
            raise UsageError(f"--sigma {sigma}: the noise needs a standard deviation above 0")
        if radius is not None and not radius > 0:
            raise UsageError(f"--radius {radius}: the L∞ radius around the root seed must be above 0")
        self._sigma, self._low, self._high, self._radius = sigma, low, high, radius

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        noise = torch.empty_like(parents.inputs).normal_(0, self._sigma, generator=rng)
        children = noise.add_(parents.inputs).clamp_(self._low, self._high)
        if self._radius is not None:
            nearest, farthest = parents.references - self._radius, parents.references + self._radius
            children = torch.minimum(torch.maximum(children, nearest, out=nearest), farthest, out=farthest)
        return parents.mutated(children, "noise")
