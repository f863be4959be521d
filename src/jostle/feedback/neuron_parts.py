"""The six neuron criteria as parts that a user can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jostle.errors import UsageError
from jostle.feedback.criteria import (
    ActiveNeurons,
    Boundaries,
    BucketOptions,
    Criterion,
    LevelOptions,
    Ranked,
    RankOptions,
    SectionOptions,
    Sections,
)
from jostle.feedback.neurons import NeuronCoverage
from jostle.options.campaign import ActivityOptions, CountedLayerOptions
from jostle.options.declaration import Theme, option
from jostle.options.kinds import TEXT
from jostle.options.schema import Settings
from jostle.part import Part, PartContext
from jostle.profile import Layers, Profile


@dataclass(frozen=True)
class ProfileOptions:
    """Where the ranges of neurons come from."""

    profile: str | None = option(
        TEXT,
        "Training data, or a file of `jostle profile`: the ranges kmnc, nbc, snac need",
        Theme.GUIDES,
        names_file=True,
        names_python=True,
    )


def _counting(
    name: str,
    line: str,
    options: tuple[type, ...],
    make: Callable[[Settings, Layers], Criterion],
    extremes: bool = False,
) -> Part[NeuronCoverage]:
    """A criterion that counts neurons of layers."""

    def begun(settings: Settings, context: PartContext) -> NeuronCoverage:
        return NeuronCoverage(name, lambda layers: make(settings, _watched(layers)))

    return Part(line, begun, (CountedLayerOptions, *options), neurons=True, extremes=extremes)


def _ranging(
    name: str, line: str, options: tuple[type, ...], make: Callable[[Settings, Profile], Criterion]
) -> Part[NeuronCoverage]:
    """A criterion that measures against the ranges of a profile."""

    def begun(settings: Settings, context: PartContext) -> NeuronCoverage:
        return NeuronCoverage(name, lambda layers: make(settings, _fitting(context.profile, _watched(layers))))

    return Part(line, begun, (CountedLayerOptions, ProfileOptions, SectionOptions, *options), neurons=True, ranges=True)


def _watched(layers: Layers) -> Layers:
    if not layers:
        raise UsageError("neuron criteria need layers to watch, and this model shows none: use --coverage nearest")
    return layers


def _fitting(profile: Profile | None, layers: Layers) -> Profile:
    if profile is None or profile.layers != layers:
        raise UsageError("--profile is of other layers than are watched: make it again with jostle profile")
    return profile


def _active(settings: Settings, layers: Layers) -> ActiveNeurons:
    return ActiveNeurons(layers, settings[ActivityOptions].active, settings[LevelOptions].levels)


def _sections(settings: Settings, profile: Profile) -> Sections:
    return Sections(profile, settings[SectionOptions].sections)


def _boundaries(both_sides: bool) -> Callable[[Settings, Profile], Boundaries]:
    return lambda settings, profile: Boundaries(
        profile, both_sides, settings[BucketOptions].buckets, settings[SectionOptions].sections
    )


def _ranked(least: bool) -> Callable[[Settings, Layers], Ranked]:
    return lambda settings, layers: Ranked(layers, settings[RankOptions].top, least)


NEURON_CRITERIA: Mapping[str, Part[NeuronCoverage]] = {
    "nc": _counting(
        "nc",
        "Neurons whose activation, scaled to 0..1 over its layer and input, exceeds a threshold (DeepXplore).",
        (ActivityOptions, LevelOptions),
        _active,
        extremes=True,
    ),
    "kmnc": _ranging(
        "kmnc", "Sections of the range that each neuron has on known data, 1000 equal ones (DeepGauge).", (), _sections
    ),
    "nbc": _ranging(
        "nbc",
        "Regions below and above the range that each neuron has on known data, in buckets.",
        (BucketOptions,),
        _boundaries(both_sides=True),
    ),
    "snac": _ranging(
        "snac",
        "Regions above the range that each neuron has on known data, in buckets.",
        (BucketOptions,),
        _boundaries(both_sides=False),
    ),
    "tknc": _counting(
        "tknc", "Neurons among the 10 most active of their layer, by rank.", (RankOptions,), _ranked(least=False)
    ),
    "bknc": _counting(
        "bknc", "Neurons among the 10 least active of their layer, by rank.", (RankOptions,), _ranked(least=True)
    ),
}
RANGED = [name for name, criterion in NEURON_CRITERIA.items() if criterion.ranges]
