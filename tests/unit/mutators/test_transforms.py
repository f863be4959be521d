"""Each of the eight transformations does what it says."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from jostle.inputs.geometry import place
from jostle.mutators.metamorphic import Metamorphic
from jostle.mutators.transforms import TRANSFORMS, Affine, blur, described, noise, with_share
from jostle.randomness import randomness
from making import batch_of

SHAPES = [(1, 8, 8), (3, 5, 9), (5, 12, 4)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def images_of(shape: tuple[int, ...], count: int = 3) -> Tensor:
    return torch.rand(count, *shape, generator=randomness(0, 0))


def moved(name: str, images: Tensor, *parameters: float) -> Tensor:
    """Images by an affine transformation, each by its own parameter, or all by one."""
    transform = TRANSFORMS[name]
    assert isinstance(transform, Affine)
    given = torch.tensor(parameters).expand(len(images))
    return place(images, transform.movement(given, randomness(0, 1), images.shape[2] / images.shape[3]))


def mutated(name: str, images: Tensor, parameter: float) -> Tensor:
    """Images as the mutator changes them when this is all it can do, and when everything is allowed."""
    only = {name: replace(TRANSFORMS[name], low=parameter, high=parameter)}
    mutator = Metamorphic(0, 1, alpha=0.999, beta=0.999, tries=1, transforms=only)
    return mutator.mutate(batch_of(images), randomness(0, 1)).inputs


@every_shape
@pytest.mark.parametrize("factor", [0.5, 0.9, 1.2])
def test_contrast_multiplies_and_clips(shape: tuple[int, ...], factor: float) -> None:
    images = images_of(shape)
    torch.testing.assert_close(mutated("contrast", images, factor), (images * factor).clamp(0, 1))


@every_shape
@pytest.mark.parametrize("amount", [-0.3, 0.05, 0.5])
def test_brightness_adds_and_clips(shape: tuple[int, ...], amount: float) -> None:
    images = images_of(shape)
    torch.testing.assert_close(mutated("brightness", images, amount), (images + amount).clamp(0, 1))


def slowly_blurred(image: Tensor, number: int) -> Tensor:
    """One image [channels, height, width] by OpenCV's kernel of that number; the outermost pixels go on."""
    width = {1: 3, 2: 4, 3: 5, 4: 3, 5: 5, 6: 7}[number]
    sigma = 0.3 * ((width - 1) * 0.5 - 1) + 0.8
    offsets = range(-(width // 2), width - width // 2)
    weights = [1.0 if number <= 3 else math.exp(-(offset**2) / (2 * sigma**2)) for offset in offsets]
    height, wide = image.shape[1:]
    result = torch.zeros_like(image)
    for row in range(height):
        for column in range(wide):
            for i, down in zip(offsets, weights, strict=True):
                for j, across in zip(offsets, weights, strict=True):
                    y, x = min(max(row + i, 0), height - 1), min(max(column + j, 0), wide - 1)
                    result[:, row, column] += image[:, y, x] * down * across / sum(weights) ** 2
    return result


@every_shape
def test_each_image_is_blurred_by_its_own_of_six_kernels(shape: tuple[int, ...], rng: torch.Generator) -> None:
    images = images_of(shape, 7)
    kernels = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    expected = [slowly_blurred(*pair) for pair in zip(images, [1, 2, 3, 4, 5, 6, 6], strict=True)]
    torch.testing.assert_close(blur(images, kernels, rng), torch.stack(expected), rtol=0, atol=1e-5)


def test_the_fraction_of_a_blur_is_how_much_of_its_kernel_is_taken(rng: torch.Generator) -> None:
    images = images_of((3, 9, 8), 4)
    blurred = torch.stack([slowly_blurred(image, 5) for image in images])
    for hundredths in (1, 29, 57, 99):
        parameter = float(f"{5 + hundredths / 100:.3g}")  # as texts tell it
        expected = images + hundredths / 100 * (blurred - images)
        torch.testing.assert_close(blur(images, torch.full((4,), parameter), rng), expected, rtol=0, atol=1e-5)


def test_shares_of_a_kernel_are_whole_hundredths_and_never_nothing() -> None:
    shares = torch.tensor([0.0, 0.004, 0.25, 0.999, 1.0, 7.0])
    assert with_share(torch.full((6,), 2.0), shares).tolist() == pytest.approx([2.01, 2.01, 2.25, 2.99, 2, 2])


def test_the_mutator_blurs_with_the_same_kernels() -> None:
    images = images_of((3, 6, 7))
    expected = torch.stack([slowly_blurred(image, 3) for image in images])
    torch.testing.assert_close(mutated("blur", images, 3), expected, rtol=0, atol=1e-5)


def test_gaussian_noise_is_additive_on_half_of_the_images_and_multiplicative_on_the_others(
    rng: torch.Generator,
) -> None:
    images = torch.full((400, 1, 40, 40), 0.25)
    spreads = (noise(images, torch.full((400,), 0.04), rng) - images).flatten(1).std(1)
    additive = spreads > 0.025
    assert spreads[additive].tolist() == pytest.approx([0.04] * int(additive.sum()), rel=0.1)
    assert spreads[~additive].tolist() == pytest.approx([0.01] * int((~additive).sum()), rel=0.1)
    assert 150 < int(additive.sum()) < 250


def test_each_image_has_noise_of_its_own_strength(rng: torch.Generator) -> None:
    strengths = torch.tensor([0.0, 0.01, 0.02, 0.05])
    spreads = (noise(torch.ones(4, 3, 30, 20), strengths, rng) - 1).flatten(1).std(1)
    assert spreads.tolist() == pytest.approx(strengths.tolist(), rel=0.1)


def test_siblings_have_different_noise_without_drift(rng: torch.Generator) -> None:
    images = torch.ones(300, 1, 28, 28)
    waves = (noise(images, torch.full((300,), 0.05), rng) - images).flatten(1)
    assert len(waves.unique(dim=0)) == 300
    assert float(waves.mean()) == pytest.approx(0, abs=0.001)


@pytest.mark.parametrize("share", [1e-6, 0.01, 0.1])
def test_below_zero_a_share_of_values_is_drawn_anew(share: float, rng: torch.Generator) -> None:
    images = torch.full((400, 2, 10, 10), 2.0)
    noisy = noise(images, torch.full((400,), -share), rng)
    changed = (noisy != images).flatten(1)
    counts = changed.sum(1)
    most = max(1, math.ceil(share * 200))
    assert int(counts.min()) >= 1 and int(counts.max()) == most
    extreme = torch.tensor([bool(((row == 0) | (row == 1) | (row == 2)).all()) for row in noisy.flatten(1)])
    assert 150 < int(extreme.sum()) < 250
    drawn = noisy[noisy != 2]
    assert 0 <= float(drawn.min()) <= float(drawn.max()) <= 1
    assert float(drawn.mean()) == pytest.approx(0.5, abs=0.06)


def test_at_least_one_value_is_drawn_anew_beside_images_with_many(rng: torch.Generator) -> None:
    shares = torch.where(torch.arange(2000) % 2 == 0, -1e-6, -0.9)
    images = torch.full((2000, 1, 4, 4), 2.0)
    changed = (noise(images, shares, rng) != images).flatten(1).any(1)
    assert int(changed.sum()) == 2000


@pytest.mark.parametrize("degrees", [90, 180, -90, 360])
@pytest.mark.parametrize("channels", [1, 3])
def test_rotation_is_counter_clockwise(degrees: int, channels: int) -> None:
    images = images_of((channels, 7, 7))
    expected = torch.rot90(images, degrees // 90, (2, 3))
    torch.testing.assert_close(moved("rotation", images, degrees), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 5, 9), (3, 10, 4)], ids=str)
def test_images_that_are_not_square_turn_without_being_stretched(shape: tuple[int, int, int]) -> None:
    images = images_of(shape)
    side, (top, left) = min(shape[1:]), ((shape[1] - min(shape[1:])) // 2, (shape[2] - min(shape[1:])) // 2)
    middle = (..., slice(top, top + side), slice(left, left + side))
    turned = moved("rotation", images, 90)
    torch.testing.assert_close(turned[middle], torch.rot90(images[middle], 1, (2, 3)), rtol=0, atol=1e-5)


@every_shape
@pytest.mark.parametrize(("name", "nothing"), [("scaling", 1), ("rotation", 0), ("shearing", 0), ("translation", 0)])
def test_the_parameter_that_does_nothing_does_nothing(shape: tuple[int, ...], name: str, nothing: float) -> None:
    images = images_of(shape)
    torch.testing.assert_close(moved(name, images, nothing), images, rtol=0, atol=1e-5)


def test_scaling_by_a_half_halves_the_image_in_the_middle_of_darkness() -> None:
    images = images_of((3, 8, 12))
    small = moved("scaling", images, 0.5)
    torch.testing.assert_close(small[..., 2:6, 3:9], functional.avg_pool2d(images, 2), rtol=0, atol=1e-5)
    border = torch.ones(8, 12, dtype=torch.bool)
    border[2:6, 3:9] = False
    darkest = images.flatten(1).amin(1)[:, None, None]
    torch.testing.assert_close(small[..., border], darkest.expand(3, 3, int(border.sum())), rtol=0, atol=1e-5)


def test_scaling_by_two_shows_the_middle_twice_as_large() -> None:
    images = images_of((1, 8, 12))
    doubled = functional.interpolate(images, scale_factor=2, mode="bilinear")
    torch.testing.assert_close(moved("scaling", images, 2), doubled[..., 4:12, 6:18], rtol=0, atol=1e-5)


@every_shape
@pytest.mark.parametrize("factor", [2, -2])
def test_shearing_moves_each_row_right_by_a_factor_of_its_height_above_the_middle(
    shape: tuple[int, ...], factor: int
) -> None:
    images = images_of(shape)
    width = shape[2]
    expected = images.flatten(1).amin(1).view(-1, 1, 1, 1).expand_as(images).clone()
    for row in range(shape[1]):
        right = factor * (shape[1] - 2 * row - 1) // 2
        for column in range(width):
            if 0 <= column - right < width:
                expected[:, :, row, column] = images[:, :, row, column - right]
    torch.testing.assert_close(moved("shearing", images, factor), expected, rtol=0, atol=1e-4)


def test_translation_moves_by_a_share_of_the_side_in_every_direction() -> None:
    images = torch.zeros(500, 1, 41, 61)
    images[:, 0, 20, 30] = 1
    shares = torch.where(torch.arange(500) % 2 == 0, 0.1, -0.05).tolist()
    spots = moved("translation", images, *shares)[:, 0]
    down = (spots.sum(2) * torch.arange(41)).sum(1) / 41 - 20 / 41
    across = (spots.sum(1) * torch.arange(61)).sum(1) / 61 - 30 / 61
    assert torch.hypot(down, across).tolist() == pytest.approx([abs(share) for share in shares], abs=1e-3)
    angles = torch.atan2(down, across).sort().values.tolist()
    assert max(after - before for before, after in pairwise(angles)) < 0.15


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("scaling", (0.7, 1.0, 1.1)), ("shearing", (-0.6, 0.1, 0.5)), ("rotation", (-50.0, 3.0, 50.0))],
)
def test_each_image_moves_by_its_own_parameter(name: str, parameters: tuple[float, ...]) -> None:
    images = images_of((2, 6, 9))
    alone = [moved(name, images[row : row + 1], parameter) for row, parameter in enumerate(parameters)]
    torch.testing.assert_close(moved(name, images, *parameters), torch.cat(alone), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_each_says_what_it_does_in_a_line_and_leaves_its_images_alone(name: str) -> None:
    assert described(TRANSFORMS[name]).endswith(".") and "\n" not in described(TRANSFORMS[name])
    images = images_of((3, 6, 8))
    before = images.clone()
    child = mutated(name, images, TRANSFORMS[name].low)
    assert torch.equal(images, before) and not torch.equal(child, before)
