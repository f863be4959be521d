"""Bounded Gaussian noise."""

from __future__ import annotations

import pytest
import torch

from jostle.errors import UsageError
from jostle.mutators.noise import Noise
from making import NOISE, batch_of


def test_noise_has_the_stated_deviation_and_no_drift(rng: torch.Generator) -> None:
    parents = batch_of(torch.full((100, 1000), 0.5))
    change = Noise(0.05, 0, 1).mutate(parents, rng).inputs - 0.5
    assert float(change.std()) == pytest.approx(0.05, rel=0.01)
    assert float(change.mean()) == pytest.approx(0, abs=0.001)


def test_the_ball_is_around_the_root_seed_and_not_around_the_parent(rng: torch.Generator) -> None:
    parents = batch_of(torch.full((1, 1000), 0.6), references=torch.full((1, 1000), 0.5))
    inputs = Noise(0.5, 0, 1, radius=0.1).mutate(parents, rng).inputs
    assert float(inputs.min()) == pytest.approx(0.4)
    assert float(inputs.max()) == pytest.approx(0.6)


def test_a_child_says_that_noise_made_it(rng: torch.Generator) -> None:
    assert Noise(0.1, 0, 1).mutate(batch_of(torch.zeros(2, 1)), rng).mutations == (NOISE, NOISE)


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan")])
def test_noise_without_deviation_is_refused(sigma: float) -> None:
    with pytest.raises(UsageError, match="--sigma"):
        Noise(sigma, 0, 1)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
def test_a_ball_without_extent_is_refused(radius: float) -> None:
    with pytest.raises(UsageError, match="--radius"):
        Noise(0.1, 0, 1, radius)
