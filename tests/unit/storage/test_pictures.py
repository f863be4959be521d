"""Pictures of image-like inputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from jostle.storage.pictures import CAPTION, SMALLEST_SIDE, picture_of


@pytest.mark.parametrize("channels", [1, 3])
def test_seed_change_and_mutant_stand_side_by_side(channels: int) -> None:
    reference = torch.zeros(channels, 2, 2)
    mutant = reference.clone()
    mutant[:, 0, 0] = 1.0
    picture = picture_of(mutant, reference)
    assert picture is not None
    pixels = np.asarray(picture)[:-CAPTION]
    third = SMALLEST_SIDE
    assert pixels[0, 0].tolist() == [0, 0, 0]  # the seed is black there
    assert pixels[0, -third].tolist() == [255, 255, 255]  # the mutant is white
    assert pixels[-1, -1].tolist() == [0, 0, 0]


def test_small_images_are_enlarged_and_large_ones_are_not() -> None:
    small, large = picture_of(torch.rand(1, 28, 28), torch.rand(1, 28, 28)), picture_of(*torch.rand(2, 3, 300, 200))
    assert small is not None and small.height == 140 + CAPTION
    assert large is not None and large.height == 300 + CAPTION


def test_a_long_narrow_input_does_not_become_a_gigantic_picture() -> None:
    picture = picture_of(torch.rand(1, 1, 16000), torch.rand(1, 1, 16000))
    assert picture is not None and picture.width * picture.height < 10**6


def test_a_constant_image_has_a_picture() -> None:
    assert picture_of(torch.ones(1, 4, 4), torch.ones(1, 4, 4)) is not None


@pytest.mark.parametrize("shape", [(4,), (4, 4), (2, 4, 4), (1, 3, 4, 4)])
def test_what_is_no_image_has_no_picture(shape: tuple[int, ...]) -> None:
    assert picture_of(torch.zeros(shape), torch.zeros(shape)) is None


def test_an_input_with_nan_has_no_picture() -> None:
    assert picture_of(torch.full((1, 2, 2), torch.nan), torch.zeros(1, 2, 2)) is None
