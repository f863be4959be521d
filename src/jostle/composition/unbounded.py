"""Values without bounds (--range=-inf,inf): what needs bounds is refused, with what to give instead."""

from __future__ import annotations

import math

from jostle.catalogue import MUTATORS, SCHEDULERS, PartOptions, parts_named
from jostle.errors import UsageError
from jostle.mutators.havoc import HavocOptions
from jostle.mutators.noise import NoiseOptions
from jostle.options.campaign import InputOptions
from jostle.options.schema import Settings
from jostle.part import ComparedWith


def refuse_without_bounds(settings: Settings) -> None:
    """Refuses parts and defaults that a range without ends has nothing to say to."""
    if math.isfinite(settings[InputOptions].bounds[1]):
        return
    parts, noise, havoc = settings[PartOptions], settings[NoiseOptions], settings[HavocOptions]
    for name in parts.mutator:
        if MUTATORS[name].bounded:
            raise UsageError(f"--mutator {name} needs the ends of --range: give them, or use --mutator noise,havoc")
    if SCHEDULERS[parts.scheduler].bounded:
        raise UsageError(f"--scheduler {parts.scheduler} needs the ends of --range: give them, or use recent")
    if math.isinf(noise.sigma):
        raise UsageError("--range=-inf,inf does not tell how far values usually are from each other: give --sigma")
    with_seeds = any(part.compares is ComparedWith.SEED for part in parts_named("oracle", parts.oracle))
    if with_seeds and None in (noise.radius, havoc.havoc_radius):
        raise UsageError("--range=-inf,inf does not tell how near its seed an answer must be the same: give --radius")
