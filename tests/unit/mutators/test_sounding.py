"""Changes of sound."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from jostle.inputs.audio import Audio, Warps
from jostle.mutators.audio import NAMES, WARPS, Sounding
from jostle.randomness import randomness
from jostle.records import Candidates
from making import batch_of, seeds_of, texts_of

RATE, TIME = 8000, 2000
PITCH = (torch.arange(TIME) / RATE * 440 * 2 * math.pi).sin()
TONES = torch.stack([PITCH * share for share in torch.linspace(0.1, 0.9, 30)])[:, None]  # [30, 1, TIME]


def tones() -> Candidates:
    return replace(seeds_of(TONES), domain=Audio(RATE, (1, TIME))).as_candidates()


def ratios(waves: Tensor, references: Tensor) -> Tensor:
    """Signal-to-noise ratio in dB [rows], the reference made as loud as it is in the wave."""
    wave, reference = waves.flatten(1).double(), references.flatten(1).double()
    gain = (wave * reference).sum(1) / reference.square().sum(1)
    signal = gain[:, None] * reference
    return 10 * (signal.square().sum(1) / (wave - signal).square().sum(1).clamp(min=1e-12)).log10()


def loudness(wave: Tensor) -> float:
    return float(wave.square().mean().sqrt())


@pytest.mark.parametrize("name", NAMES)
def test_every_effect_changes_all_waves_and_says_what_it_did(name: str) -> None:
    parents = tones()
    children = Sounding(RATE, effects=(name,)).mutate(parents, randomness(0, 1))
    assert (children.inputs != parents.inputs).flatten(1).any(1).all()
    assert all(text.startswith(name) for text in texts_of(children))
    assert (children.moved == (name in WARPS)).all()


@pytest.mark.parametrize("snr", [10.0, 20.0, 40.0])
def test_a_long_line_of_children_stays_above_the_worst_ratio(snr: float) -> None:
    rows, mutator = tones(), Sounding(RATE, snr)
    for step in range(1, 30):
        rows = mutator.mutate(rows, randomness(0, step))
        assert (
            float(ratios(rows.inputs, rows.references).min()) > snr - 1
        )  # of a wave as quiet as it may be, a little less
        assert float(rows.inputs.abs().max()) <= 1


def test_waves_are_moved_once_and_their_references_with_them() -> None:
    rows, mutator = tones(), Sounding(RATE)
    for step in range(1, 10):
        before, rows = rows, mutator.mutate(rows, randomness(0, step))
        if isinstance(before.lineage, Warps):
            moved = before.moved
            assert torch.equal(rows.lineage.rows[moved], before.lineage.rows[moved])
    assert rows.moved.float().mean() > 0.5


def test_a_shift_is_by_whole_samples() -> None:
    children = Sounding(RATE, effects=("shift",)).mutate(tones(), randomness(0, 1))
    shift = int(Warps.of(children.lineage).rows[0, 0, 2])
    assert 0 < abs(shift) <= TIME / 10
    kept = slice(shift, None) if shift > 0 else slice(None, shift)
    there = slice(None, -shift) if shift > 0 else slice(-shift, None)
    assert torch.equal(children.inputs[0, 0, there], TONES[0, 0, kept])


def test_noise_has_the_ratio_that_it_says() -> None:
    children = Sounding(RATE, effects=("noise",)).mutate(tones(), randomness(0, 1))
    said = torch.tensor([float(text.split()[1]) for text in texts_of(children)])
    clean = children.inputs.abs().amax(2).squeeze(1) < 1
    assert torch.allclose(ratios(children.inputs, TONES)[clean].float(), said[clean], atol=0.6)


def test_filters_take_away_their_band_and_leave_the_other() -> None:
    high = (torch.arange(TIME) / RATE * 3900 * 2 * math.pi).sin() * 0.04
    both = (PITCH * 0.5 + high).expand(8, 1, TIME).clone()
    children = Sounding(RATE, effects=("low-pass",)).mutate(batch_of(both), randomness(0, 1)).inputs[:, 0]
    left = [loudness(child - PITCH * 0.5) for child in children]
    assert min(left) < 0.3 * loudness(high) and all(
        abs(loudness(child) / loudness(PITCH * 0.5) - 1) < 0.1 for child in children
    )


def test_silence_may_get_noise_that_nobody_hears() -> None:
    silent = batch_of(torch.zeros(4, 1, TIME))
    children = Sounding(RATE, effects=("noise",)).mutate(silent, randomness(0, 1)).inputs
    assert 0 < float(children.abs().max()) < 0.01


def test_rows_without_channels_are_taken_too() -> None:
    assert Sounding(RATE).mutate(batch_of(TONES[:, 0]), randomness(0, 1)).inputs.shape == (30, TIME)


def test_a_batch_is_changed_as_its_rows_are() -> None:
    """Of noise-free effects: what happens to a row depends on its own draw only."""
    parents, mutator = tones(), Sounding(RATE, effects=("gain", "clip", "low-pass"))
    children = mutator.mutate(parents, randomness(3, 1))
    again = mutator.mutate(parents, randomness(3, 1))
    assert torch.equal(children.inputs, again.inputs)
    quieter = mutator.mutate(
        replace(parents, inputs=parents.inputs * 0.5, seeds=seeds_of(TONES * 0.5)), randomness(3, 1)
    )
    loud = children.inputs.abs().amax(2) < 1
    assert torch.allclose(quieter.inputs[loud] * 2, children.inputs[loud], atol=2e-3)
