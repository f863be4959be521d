"""Moving images by affine maps."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.inputs.geometry import Border, Placements, are_moved, place, place_boxes, place_masks, unmoved
from jostle.randomness import randomness

SHAPES = [(1, 1, 1), (1, 6, 6), (3, 4, 7), (5, 9, 2)]


def images_of(shape: tuple[int, ...], count: int = 4, darkest: float = 0.0) -> Tensor:
    return torch.rand(count, *shape, generator=randomness(0, 0)) * (1 - darkest) + darkest


def shift(across: float, down: float) -> Tensor:
    """The map that moves what an image shows by these shares of half its sides."""
    return torch.tensor([[[1.0, 0.0, -across], [0.0, 1.0, -down]]])


def slowly_placed(image: Tensor, placement: Tensor) -> Tensor:
    """One image [channels, height, width]: each pixel between the four it falls among, dark where there is none."""
    channels, height, width = image.shape
    (a, b, c), (d, e, f) = placement.tolist()
    darkest = float(image.min())
    result = torch.empty_like(image)
    for row in range(height):
        for column in range(width):
            x, y = (2 * column + 1) / width - 1, (2 * row + 1) / height - 1
            at_x = ((a * x + b * y + c + 1) * width - 1) / 2
            at_y = ((d * x + e * y + f + 1) * height - 1) / 2
            left, top = math.floor(at_x), math.floor(at_y)
            for channel in range(channels):
                value = 0.0
                for i, down in ((top, 1 - at_y + top), (top + 1, at_y - top)):
                    for j, across in ((left, 1 - at_x + left), (left + 1, at_x - left)):
                        inside = 0 <= i < height and 0 <= j < width
                        value += down * across * (float(image[channel, i, j]) if inside else darkest)
                result[channel, row, column] = value
    return result


@pytest.mark.parametrize("border", Border)
@pytest.mark.parametrize("shape", [*SHAPES, (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("darkest", [0.0, 0.3, -1.0])
def test_unmoved_images_stay_as_they_are(shape: tuple[int, ...], darkest: float, border: Border) -> None:
    images = images_of(shape, darkest=darkest)
    torch.testing.assert_close(place(images, unmoved(4), border), images, rtol=0, atol=1e-5)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES), darkest=st.sampled_from([0.0, 0.3, -1.0]))
def test_every_pixel_lies_between_the_four_its_map_points_among(
    seed: int, shape: tuple[int, ...], darkest: float
) -> None:
    images = images_of(shape, darkest=darkest)
    placements = unmoved(4) + torch.randn(4, 2, 3, generator=randomness(seed, 1)) * 0.5
    expected = torch.stack([slowly_placed(*pair) for pair in zip(images, placements, strict=True)])
    torch.testing.assert_close(place(images, placements), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("across", "down"), [(2, 0), (-1, 0), (0, 3), (0, -2), (1, -3), (9, 0)])
def test_a_shift_by_whole_pixels_is_a_roll_with_darkness_coming_in(across: int, down: int) -> None:
    images = images_of((3, 5, 8), darkest=0.25)
    moved = place(images, shift(2 * across / 8, 2 * down / 5).expand(4, 2, 3))
    expected = torch.roll(images, (down, across), (2, 3))
    rows, columns = torch.arange(5)[:, None] - down, torch.arange(8) - across
    inside = (rows >= 0) & (rows < 5) & (columns >= 0) & (columns < 8)
    darkest = images.flatten(1).amin(1).view(-1, 1, 1, 1)
    torch.testing.assert_close(moved, torch.where(inside, expected, darkest), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("across", "down"), [(2, 0), (-1, 0), (0, 3), (0, -2), (1, -3), (4, -4)])
def test_the_edge_goes_on_or_the_image_is_mirrored_where_that_is_chosen(across: int, down: int) -> None:
    images, placement = images_of((3, 5, 8), darkest=0.25), shift(2 * across / 8, 2 * down / 5).expand(4, 2, 3)
    rows, columns = torch.arange(5) - down, torch.arange(8) - across
    edge = images[:, :, rows.clamp(0, 4)][..., columns.clamp(0, 7)]
    torch.testing.assert_close(place(images, placement, Border.EDGE), edge, rtol=0, atol=1e-5)
    mirrored = images[:, :, mirror(rows, 5)][..., mirror(columns, 8)]
    torch.testing.assert_close(place(images, placement, Border.REFLECT), mirrored, rtol=0, atol=1e-5)


def mirror(places: Tensor, side: int) -> Tensor:
    """Where places up to a side beyond the edges lie in the mirror image."""
    places = torch.where(places < 0, -1 - places, places)
    return torch.where(places >= side, 2 * side - 1 - places, places)


@pytest.mark.parametrize("border", Border)
def test_the_slices_of_a_volume_move_together_as_images_would(border: Border) -> None:
    volumes = images_of((2, 3, 6, 5))
    volumes[..., 0, 0] = 0  # so that all slices are as dark
    placements = unmoved(4) + torch.randn(4, 2, 3, generator=randomness(0, 1)) * 0.3
    slices = [place(volumes[:, :, number], placements, border) for number in range(3)]
    torch.testing.assert_close(place(volumes, placements, border), torch.stack(slices, 2), rtol=0, atol=1e-5)


@pytest.mark.parametrize("border", Border)
def test_references_are_moved_with_the_border_of_their_lineage(border: Border) -> None:
    images, lineage = images_of((1, 6, 6)), Placements(shift(0.5, 0.2).expand(4, 2, 3), border)
    expected = place(images, lineage.rows, border)
    for same in (lineage, lineage.with_rows(lineage.rows), lineage.untouched(0).with_rows(lineage.rows)):
        assert torch.equal(same.references(images.clone()), expected)


def test_each_image_moves_by_its_own_map_and_is_filled_with_its_own_darkest() -> None:
    images = images_of((2, 4, 6)) + torch.arange(4.0).view(-1, 1, 1, 1)
    placements = torch.cat([shift(0.3, 0.1), unmoved(1), shift(-1.2, 0), shift(0, 5)])
    alone = [place(images[row : row + 1], placements[row : row + 1]) for row in range(4)]
    torch.testing.assert_close(place(images, placements), torch.cat(alone), rtol=0, atol=1e-6)
    assert float(place(images, placements)[3].max()) == pytest.approx(float(images[3].min()))


def test_the_given_images_are_left_alone() -> None:
    for darkest in (0.0, 0.5):
        images = images_of((1, 5, 5), darkest=darkest)
        images[:, 0, 0, 0] = darkest
        before = images.clone()
        place(images, shift(0.4, 0).expand(4, 2, 3)).zero_()
        assert torch.equal(images, before)


def test_a_map_that_is_not_the_identity_moves() -> None:
    placements = torch.cat([unmoved(1), shift(1e-3, 0), unmoved(1), torch.eye(2, 3)[None] * 0.9])
    assert are_moved(placements).tolist() == [False, True, False, True]
    assert unmoved(0).shape == (0, 2, 3) and not are_moved(unmoved(5)).any()


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_masks_and_boxes_move_as_images_do(seed: int) -> None:
    placements = unmoved(1) + torch.randn(1, 2, 3, generator=randomness(seed, 0)) * 0.15
    image = torch.zeros(1, 1, 60, 80)
    image[..., 20:35, 25:50] = 1
    shown, mask = place(image, placements)[0, 0] > 0.5, place_masks(image[:, 0].long(), placements, -1)[0]
    assert ((mask == 1) == shown).float().mean() > 0.98
    rows, columns = shown.any(1).nonzero().flatten(), shown.any(0).nonzero().flatten()
    sides = torch.tensor([80, 60, 80, 60])
    (box,) = place_boxes(torch.tensor([[[25, 20, 50, 35]]]) / sides, placements)[0] * sides
    inside = torch.minimum(box.clamp(min=0), sides.float()).tolist()
    around = [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
    assert inside == pytest.approx([float(edge) for edge in around], abs=2)


def test_what_comes_into_a_mask_is_unknown() -> None:
    mask = torch.ones(1, 4, 4, dtype=torch.int64)
    assert place_masks(mask, shift(0.5, 0), -1)[0, 0].tolist() == [-1, 1, 1, 1]
    assert torch.equal(place_masks(mask * 300, unmoved(1), -1), mask * 300)
