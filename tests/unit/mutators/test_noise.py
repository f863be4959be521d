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


def test_with_halvings_half_of_the_mutants_get_less_noise_each_by_its_own_factor(rng: torch.Generator) -> None:
    parents = batch_of(torch.full((400, 1000), 0.5))
    deviations = (Noise(0.05, 0, 1, halvings=10).mutate(parents, rng).inputs - 0.5).std(1)
    halved = -torch.log2(deviations / 0.05)
    assert int((halved < 0.1).sum()) == pytest.approx(200, abs=40)
    assert [int(((halved >= low) & (halved < low + 2)).sum()) for low in (2, 4, 6, 8)] == pytest.approx(
        [40] * 4, abs=25
    )
    assert float(halved.max()) < 10.2


def test_without_halvings_the_same_noise_is_drawn_as_ever() -> None:
    parents = batch_of(torch.full((3, 5), 0.5))
    children = Noise(0.1, 0, 1).mutate(parents, torch.Generator().manual_seed(1)).inputs
    drawn = torch.empty(3, 5).normal_(0, 0.1, generator=torch.Generator().manual_seed(1))
    assert torch.equal(children, drawn + 0.5)


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan")])
def test_noise_without_deviation_is_refused(sigma: float) -> None:
    with pytest.raises(UsageError, match="--sigma"):
        Noise(sigma, 0, 1)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
def test_a_ball_without_extent_is_refused(radius: float) -> None:
    with pytest.raises(UsageError, match="--radius"):
        Noise(0.1, 0, 1, radius)
