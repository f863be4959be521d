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


def test_rows_and_steps_have_noise_of_their_own_that_is_drawn_from_the_randomness_alone() -> None:
    parents = batch_of(torch.full((64, 784), 0.5))
    rng, again = (torch.Generator().manual_seed(1) for _ in range(2))
    first, second = (Noise(0.01, 0, 1).mutate(parents, rng).inputs - 0.5 for _ in range(2))
    alike = torch.corrcoef(torch.cat([first, second])).fill_diagonal_(0).abs()
    assert float(alike.max()) < 0.25  # of so many pairs of independent rows, none is more alike
    assert torch.equal(Noise(0.01, 0, 1).mutate(parents, again).inputs - 0.5, first)


def test_noise_keeps_the_type_of_the_inputs(rng: torch.Generator) -> None:
    assert Noise(0.1, 0, 1).mutate(batch_of(torch.zeros(2, 3, dtype=torch.float64)), rng).inputs.dtype == torch.float64


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan")])
def test_noise_without_deviation_is_refused(sigma: float) -> None:
    with pytest.raises(UsageError, match="--sigma"):
        Noise(sigma, 0, 1)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
def test_a_ball_without_extent_is_refused(radius: float) -> None:
    with pytest.raises(UsageError, match="--radius"):
        Noise(0.1, 0, 1, radius)
