"""Bounded Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.distances import columns
from jostle.mutators.in_domain import in_domain
from jostle.options.campaign import InputOptions
from jostle.options.declaration import Derived, Facts, Theme, check, option
from jostle.options.kinds import number, whole
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import Candidates

SIGMA_SHARE = 0.1  # of the value range: TensorFuzz's σ of 0.2 on values from -1 to 1
MEANINGFUL_SHARE = 0.1  # of the value range: farther from its root, a mutant may rightly have another answer


def _radius(facts: Facts) -> float | None:
    """None where only what no input may show is sought; an answer can be compared only near the seed."""
    return share_of_range(facts) if facts.compares else None


def share_of_range(facts: Facts) -> float | None:
    """How far from its root a mutant may be where answers are compared; None where the range has no ends."""
    return MEANINGFUL_SHARE * facts.span if math.isfinite(facts.span) else None


@dataclass(frozen=True)
class NoiseOptions:
    """What the noise is like."""

    sigma: float = option(
        number("the noise needs a standard deviation above 0", above=0),
        "Standard deviation of the noise; of tables, in shares of each column's span",
        Theme.MUTATION,
        default=Derived(lambda facts: SIGMA_SHARE * facts.span, "a tenth of the range"),
    )
    radius: float | None = option(
        number("the L∞ radius around the root seed must be above 0", above=0),
        "Largest change from the root seed; of tables, in shares of each column's span",
        Theme.MUTATION,
        default=Derived(_radius, "a tenth of the range where answers are compared"),
    )


@dataclass(frozen=True)
class FineNoiseOptions:
    """How much finer the noise may be."""

    halvings: int = option(
        whole(0, 40, "give a whole number from 0 to 40"),
        "How many times the noise of every second mutant may be halved, drawn for each (12 with --coverage gap)",
        Theme.MUTATION,
        default=0,
    )


class Noise:
    """Gaussian noise, clipped to the value range and, with a radius, to an L∞ ball around the root seed.

    With halvings, half of the mutants get less of it, each by a factor of its own: whoever climbs needs small steps
    where large ones only lead away.
    """

    def __init__(self, sigma: float, low: float, high: float, radius: float | None = None, halvings: int = 0):
        check(NoiseOptions, sigma=sigma, radius=radius)
        check(FineNoiseOptions, halvings=halvings)
        self._sigma, self._low, self._high, self._radius, self._halvings = sigma, low, high, radius, halvings

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        noise = torch.empty_like(parents.inputs).normal_(0, self._sigma, generator=rng)
        if self._halvings:
            noise *= columns(self._factors(len(parents), rng), noise)
        children = kept_within(noise.add_(parents.inputs), parents, self._low, self._high, self._radius)
        return parents.mutated(children, "noise")

    def _factors(self, rows: int, rng: torch.Generator) -> Tensor:
        """1 for half of the rows [rows], less for the others."""
        drawn = torch.rand(rows, generator=rng)
        return torch.exp2(-self._halvings * (2 * drawn - 1).clamp(min=0))


def kept_within(children: Tensor, parents: Candidates, low: float, high: float, radius: float | None) -> Tensor:
    """Children [batch, ...] clipped to a range and, with a radius, around what they are compared with, in place."""
    children = children.clamp_(low, high)
    if radius is None:
        return children
    references = parents.references
    return torch.clamp(children, references - radius, references + radius, out=children)


def refuse_tokens(mutator: str, context: PartContext) -> None:
    """Refuses seeds that are tokens, of which none is larger than another."""
    if not context.seeds.inputs.is_floating_point():
        raise UsageError(
            f"--mutator {mutator} is for values, and the seeds are tokens: use --mutator {context.domain.mutator}"
        )


def _noise(settings: Settings, context: PartContext) -> Noise:
    options = settings[NoiseOptions]
    refuse_tokens("noise", context)
    halvings = settings[FineNoiseOptions].halvings
    return Noise(options.sigma, *settings[InputOptions].bounds, options.radius, halvings)


NOISE = Part(first_line(Noise), in_domain(_noise), (NoiseOptions, FineNoiseOptions))
