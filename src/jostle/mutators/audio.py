"""Changes of sound that a listener would not mind: louder, noisier, later, faster, duller, clipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jostle.errors import PreflightFailed
from jostle.inputs.audio import Audio, Warps, warped
from jostle.inputs.distances import columns
from jostle.lineage import UNCHANGED, Mutation
from jostle.mutations import Mutations
from jostle.options.declaration import Theme, check, option
from jostle.options.kinds import choices, number
from jostle.options.schema import Settings
from jostle.part import Part, PartContext, first_line
from jostle.records import Candidates

SILENCE = 1e-6  # mean square below which a wave counts as silent: -60 dB of the largest
MOST_GAIN = 12.0  # dB from the root
GAIN = 6.0  # dB at once
ABOVE_FLOOR = 20.0  # dB: how much better than the worst signal-to-noise ratio noise may be
MOST_SHIFT = 0.1  # of the length
FASTEST = 1.05  # and slowest is its inverse
HIGHEST_LOW = 0.05  # of half the rate: below this a high-pass filter begins
LOWEST_HIGH = 0.25  # of half the rate: above this a low-pass filter ends
STEEP = 8  # of filters, as a power of the frequency
LEAST_CLIP = 0.5  # of the peak

# waves [rows, ..., time], parameters [rows] and half the rate -> changed waves
Effect = Callable[[Tensor, Tensor, float], Tensor]


def louder(waves: Tensor, decibels: Tensor, half_rate: float) -> Tensor:
    return waves * columns(10 ** (decibels / 20), waves)


def low_passed(waves: Tensor, ends: Tensor, half_rate: float) -> Tensor:
    return _filtered(waves, lambda pitch: 1 / (1 + (pitch / ends[:, None]) ** STEEP), half_rate)


def high_passed(waves: Tensor, begins: Tensor, half_rate: float) -> Tensor:
    return _filtered(waves, lambda pitch: 1 - 1 / (1 + (pitch / begins[:, None]) ** STEEP), half_rate)


def clipped(waves: Tensor, shares: Tensor, half_rate: float) -> Tensor:
    peaks = columns(shares * waves.abs().flatten(1).amax(1), waves)
    return torch.minimum(torch.maximum(waves, -peaks), peaks)


def _filtered(waves: Tensor, gain: Callable[[Tensor], Tensor], half_rate: float) -> Tensor:
    """Every frequency times its gain [rows, frequencies]; phases stay."""
    spectrum: Tensor = torch.fft.rfft(waves)
    pitches = torch.linspace(0, half_rate, spectrum.shape[-1])[None]
    gains = gain(pitches)
    changed: Tensor = torch.fft.irfft(spectrum * gains.view(len(waves), *(1,) * (waves.ndim - 2), -1), waves.shape[-1])
    return changed


@dataclass(frozen=True)
class Alteration:
    """One kind of change: where its parameter lies, its unit, and what it does, unless that is noise or a warp."""

    low: float
    high: float
    unit: str
    effect: Effect | None = None


def kinds_of(half_rate: float, snr: float) -> dict[str, Alteration]:
    """All kinds by name, for waves with this half of their rate in Hz and this worst signal-to-noise ratio in dB."""
    return {
        "gain": Alteration(-GAIN, GAIN, "dB", louder),
        "noise": Alteration(snr, snr + ABOVE_FLOOR, "dB"),
        "shift": Alteration(-MOST_SHIFT, MOST_SHIFT, "of the length"),
        "speed": Alteration(1 / FASTEST, FASTEST, ""),
        "low-pass": Alteration(LOWEST_HIGH * half_rate, half_rate, "Hz", low_passed),
        "high-pass": Alteration(HIGHEST_LOW * half_rate / 20, HIGHEST_LOW * half_rate, "Hz", high_passed),
        "clip": Alteration(LEAST_CLIP, 1, "", clipped),
    }


NAMES = tuple(kinds_of(1, 0))
WARPS = ("shift", "speed")


@dataclass(frozen=True)
class AudioOptions:
    """Which changes of sound are tried, and how far they may go."""

    effects: tuple[str, ...] = option(
        choices(lambda: NAMES, "an effect"), f"Of `audio`: {', '.join(NAMES)} (all)", Theme.MUTATION, default=()
    )
    snr: float = option(
        number("give a signal-to-noise ratio in dB, such as 20", at_least=-20, at_most=120),
        "Of `audio`: least signal-to-noise ratio to the seed, in dB",
        Theme.MUTATION,
        default=20.0,
    )


class Sounding:
    """Gain, noise, shift, speed, filters and clipping of sound, down to a signal-to-noise ratio to the seed."""

    def __init__(self, rate: int, snr: float = AudioOptions.snr, effects: Sequence[str] = NAMES):
        check(AudioOptions, snr=snr, effects=tuple(effects))
        self._half_rate, self._snr = rate / 2, snr
        known: Mapping[str, Alteration] = kinds_of(self._half_rate, snr)
        self._names, self._kinds = list(effects), [known[name] for name in effects]
        self._lows = torch.tensor([kind.low for kind in self._kinds])
        self._spans = torch.tensor([kind.high - kind.low for kind in self._kinds])
        self._still = torch.tensor([place for place, name in enumerate(effects) if name not in WARPS])

    def mutate(self, parents: Candidates, rng: torch.Generator) -> Candidates:
        warps = Warps.of(parents.lineage)
        kinds = self._drawn(warps.moved, rng)
        parameters = self._lows[kinds] + self._spans[kinds] * torch.rand(len(kinds), generator=rng)
        rows = warps.rows.clone()
        self._warp(rows, kinds, parameters, parents.inputs.shape[-1])
        able = (kinds >= 0).nonzero().squeeze(1)
        children = parents.inputs.clone()
        for kind in kinds[able].unique().tolist():
            some = (kinds == kind).nonzero().squeeze(1)
            children[some] = self._changed(kind, parents.inputs[some], parameters[some], rng)
        lineage = Warps(rows)
        references = lineage.references(parents.originals)
        children[able] = _within(children[able], references[able], self._snr)
        unlike = (children != parents.inputs).flatten(1).any(1).tolist()
        mutations = self._described(kinds.tolist(), parameters.tolist(), unlike)
        return replace(parents, inputs=children, lineage=lineage, mutations=mutations)

    def _drawn(self, moved: Tensor, rng: torch.Generator) -> Tensor:
        """What happens to each row [rows]; one that was moved is not moved again, -1 where there is nothing else."""
        draws = torch.rand(len(moved), generator=rng)
        anything = (draws * len(self._kinds)).long()
        if not len(self._still):
            return torch.where(moved, -1, anything)
        return torch.where(moved, self._still[(draws * len(self._still)).long()], anything)

    def _warp(self, rows: Tensor, kinds: Tensor, parameters: Tensor, time: int) -> None:
        """Notes for each row how it is moved, by whole samples, or stretched."""
        for place, name in enumerate(self._names):
            some = kinds == place
            if name == "shift":
                rows[some, 0, 2] = _samples(parameters[some], time)
            elif name == "speed":
                rows[some, 0, 0] = parameters[some]

    def _changed(self, kind: int, waves: Tensor, parameters: Tensor, rng: torch.Generator) -> Tensor:
        name, effect = self._names[kind], self._kinds[kind].effect
        if effect is not None:
            return effect(waves, parameters, self._half_rate)
        if name == "noise":
            loud = (_power(waves) / 10 ** (parameters / 10)).sqrt()
            return waves + torch.empty_like(waves).normal_(generator=rng) * columns(loud, waves)
        still = torch.zeros_like(parameters)
        if name == "shift":
            return warped(waves, still + 1, _samples(parameters, waves.shape[-1]))
        return warped(waves, parameters, still)

    def _described(self, kinds: list[int], parameters: list[float], unlike: list[bool]) -> Mutations:
        return Mutations.of(
            Mutation((f"{self._names[kind]} {parameter:.3g} {self._kinds[kind].unit}".rstrip(),)) if new else UNCHANGED
            for kind, parameter, new in zip(kinds, parameters, unlike, strict=True)
        )


def _samples(shares: Tensor, time: int) -> Tensor:
    """Shares of so many samples as whole ones, one at least."""
    whole = (shares * time).round()
    return torch.where(whole == 0, 1.0, whole)


def _power(waves: Tensor) -> Tensor:
    """Mean square of each wave [rows], of silence a little."""
    return waves.square().flatten(1).mean(1).clamp(min=SILENCE)


def _within(waves: Tensor, references: Tensor, snr: float) -> Tensor:
    """Waves pulled towards their references, each made as loud as its wave is, until their ratio is the worst allowed.

    What is left of a wave when the reference in it is taken out counts as noise.
    """
    gains = _gains(waves, references)
    signals = references * columns(gains, references)
    noise = waves - signals
    allowed = _power(signals) / 10 ** (snr / 10)
    shares = (allowed / noise.square().flatten(1).mean(1).clamp(min=1e-20)).sqrt().clamp(max=1)
    return torch.where(columns(shares < 1, waves), signals + noise * columns(shares, noise), waves).clamp(-1, 1)


def _gains(waves: Tensor, references: Tensor) -> Tensor:
    """How loud each reference is in its wave [rows], so far as the loudest gain and the largest sample allow."""
    wave, reference = waves.flatten(1), references.flatten(1)
    fitting = (wave * reference).sum(1) / reference.square().sum(1).clamp(min=1e-20)
    most = 10 ** (MOST_GAIN / 20)
    loudest = (1 / reference.abs().amax(1).clamp(min=1e-20)).clamp(max=most)
    return torch.minimum(fitting.clamp(min=1 / most), loudest)


def _sounding(settings: Settings, context: PartContext) -> Sounding:
    options, domain = settings[AudioOptions], context.domain
    if not isinstance(domain, Audio):
        raise PreflightFailed("--mutator audio needs waves: give .wav files, or the --rate of arrays [channels, time]")
    return Sounding(domain.rate, options.snr, options.effects or NAMES)


AUDIO = Part(first_line(Sounding), _sounding, (AudioOptions,))
