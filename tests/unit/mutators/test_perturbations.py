"""From a gradient to a change of the image: as it is, or as reality would change it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from jostle.mutators.perturbations import PERTURBATIONS, blackout, light, occlusion, plain, sign
from jostle.randomness import randomness

SHAPE = (6, 3, 28, 28)


@pytest.fixture
def gradient(rng: torch.Generator) -> Tensor:
    return torch.randn(SHAPE, generator=rng)


@pytest.fixture
def places(rng: torch.Generator) -> Tensor:
    return torch.rand(6, 2, generator=rng)


def boxes(direction: Tensor) -> list[tuple[int, int, int, int]]:
    """Top, bottom, left and right of what is not zero in each row."""
    found = []
    for row in direction:
        down, across = (row != 0).any(0).any(1).nonzero(), (row != 0).any(0).any(0).nonzero()
        found.append((int(down.min()), int(down.max()), int(across.min()), int(across.max())))
    return found


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_a_direction_never_descends_and_ascends_wherever_it_is_not_zero(
    name: str, gradient: Tensor, places: Tensor, rng: torch.Generator
) -> None:
    before = gradient.clone()
    direction = PERTURBATIONS[name](gradient, places, rng)
    assert direction.shape == SHAPE and torch.equal(gradient, before)
    along = (direction * gradient).flatten(1).sum(1)
    anywhere = direction.flatten(1).any(1)
    assert (along[anywhere] > 0).all() and anywhere.any()


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_a_gradient_of_zero_gives_no_direction(name: str, places: Tensor, rng: torch.Generator) -> None:
    assert not PERTURBATIONS[name](torch.zeros(SHAPE), places, rng).any()


@pytest.mark.parametrize("name", sorted(PERTURBATIONS.keys() - {"blackout"}))
def test_a_row_is_perturbed_as_if_alone(name: str, gradient: Tensor, places: Tensor, rng: torch.Generator) -> None:
    whole = PERTURBATIONS[name](gradient, places, rng)
    for row in torch.arange(len(gradient)).split(1):
        torch.testing.assert_close(PERTURBATIONS[name](gradient[row], places[row], rng), whole[row])


def test_plain_is_the_gradient_and_sign_moves_every_value_alike(
    gradient: Tensor, places: Tensor, rng: torch.Generator
) -> None:
    assert torch.equal(plain(gradient, places, rng), gradient)
    signed = sign(gradient, places, rng)
    assert (signed.abs() == 1).all() and (signed * gradient > 0).all()


def test_light_moves_all_values_of_an_image_by_the_same_amount(
    gradient: Tensor, places: Tensor, rng: torch.Generator
) -> None:
    direction = light(gradient, places, rng).flatten(1)
    assert (direction == direction[:, :1]).all()
    torch.testing.assert_close(direction[:, 0], gradient.flatten(1).mean(1))


def test_occlusion_changes_one_box_where_the_line_drew_it(
    gradient: Tensor, places: Tensor, rng: torch.Generator
) -> None:
    direction = occlusion(gradient, places, rng)
    for (top, bottom, left, right), (down, across) in zip(boxes(direction), places.tolist(), strict=True):
        assert bottom - top == right - left == 9  # ten pixels of 28, as DeepXplore's
        assert (top, left) == (int(down * 19), int(across * 19))
    inside = direction != 0
    assert torch.equal(direction[inside], gradient[inside]) and int(inside.sum()) == 6 * 3 * 100
    assert boxes(occlusion(gradient * 2, places, rng)) == boxes(direction)  # the place does not follow the gradient


def test_boxes_reach_both_ends_of_an_image() -> None:
    corners = torch.tensor([[0.0, 0.0], [0.999999, 0.999999]])
    direction = occlusion(torch.ones(2, 1, 20, 28), corners, randomness(0, 1))
    assert boxes(direction) == [(0, 6, 0, 9), (13, 19, 18, 27)]


def test_blackout_only_darkens_a_few_small_patches_drawn_anew_each_time(places: Tensor, rng: torch.Generator) -> None:
    darker_is_better = -torch.ones(SHAPE)
    first, second = (blackout(darker_is_better, places, rng) for _ in range(2))
    assert not torch.equal(first, second)
    for direction in (first, second):
        assert set(direction.unique().tolist()) == {-1.0, 0.0}
        patched = (direction != 0)[:, 0].flatten(1).sum(1)
        assert (patched >= 36).all() and (patched <= 6 * 36).all()
        assert torch.equal(direction[:, 0], direction[:, 2])  # a patch is black in every channel


def test_blackout_does_nothing_where_darkening_would_descend(places: Tensor, rng: torch.Generator) -> None:
    assert not blackout(torch.ones(SHAPE), places, rng).any()
