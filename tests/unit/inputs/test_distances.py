"""How far an input is from what it is compared with, and what an image file keeps of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.inputs.distances import LEVELS, as_image_file, lengths, reference_lengths, relative_distances, sizes, within
from jostle.inputs.seeds import SeedForm, load_seeds
from jostle.storage.pictures import write_png

RANGES = [(0.0, 1.0), (0.0, 255.0), (-1.0, 1.0), (-2.5, 7.5)]
every_range = pytest.mark.parametrize(("low", "high"), RANGES)


def every_level(low: float, high: float, channels: int) -> Tensor:
    """An image [channels, 16, 16] in which each channel holds every value that eight bits hold, in its own order."""
    levels = torch.stack([torch.arange(256).roll(90 * channel).view(16, 16) for channel in range(channels)])
    return levels.float() / LEVELS * (high - low) + low


@every_range
@pytest.mark.parametrize("channels", [1, 3])
def test_an_image_survives_its_file_exactly(low: float, high: float, channels: int, tmp_path: Path) -> None:
    image = every_level(low, high, channels)
    assert torch.equal(as_image_file(image[None], low, high)[0], image)
    write_png(tmp_path / "image.png", image, low, high)
    read = load_seeds(str(tmp_path / "image.png"), SeedForm(low, high))
    assert read.inputs.shape == (1, channels, 16, 16)
    assert torch.equal(read.inputs[0], image)


@every_range
@pytest.mark.parametrize("channels", [1, 3])
def test_any_values_are_given_back_by_a_file_as_foretold(
    low: float, high: float, channels: int, tmp_path: Path, rng: torch.Generator
) -> None:
    anything = torch.rand(channels, 9, 7, generator=rng) * (high - low) + low
    foretold = as_image_file(anything[None], low, high)
    write_png(tmp_path / "image.png", anything, low, high)
    assert torch.equal(load_seeds(str(tmp_path / "image.png"), SeedForm(low, high)).inputs, foretold)


@settings(deadline=None, derandomize=True)
@given(
    values=st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=30),
    ends=st.sampled_from(RANGES),
)
def test_a_file_keeps_values_in_range_to_half_a_level_and_nothing_changes_twice(
    values: list[float], ends: tuple[float, float]
) -> None:
    inputs = torch.tensor([values])
    kept = as_image_file(inputs, *ends)
    assert torch.equal(as_image_file(kept, *ends), kept)
    off = (kept - inputs.clamp(*ends)).abs().max()
    assert float(off) <= (ends[1] - ends[0]) / LEVELS / 2 * 1.001
    assert float(kept.min()) >= ends[0] and float(kept.max()) <= ends[1]


def test_bytes_are_what_a_file_holds_anyway() -> None:
    pixels = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)
    assert torch.equal(as_image_file(pixels, 0, 255), pixels)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_a_type_is_kept(dtype: torch.dtype) -> None:
    inputs = torch.tensor([[-5, 3, 300]]).to(dtype)
    assert as_image_file(inputs, 0.0, 200.0).dtype == dtype
    assert within(inputs, 0.0, 255.0).dtype == dtype
    assert within(inputs, 0.0, 255.0).tolist() == [[0, 3, 255]]


def test_a_relative_distance_is_a_share_of_the_references_length() -> None:
    references = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    moved = references + torch.tensor([[0.0, 1.0], [3.0, 4.0]])
    assert relative_distances(moved, references).tolist() == pytest.approx([0.2, 2.5])


def test_a_reference_of_zeros_counts_as_long_as_one_of_ones() -> None:
    zeros, ones = torch.zeros(1, 2, 8), torch.ones(1, 2, 8)
    assert reference_lengths(zeros).tolist() == reference_lengths(ones).tolist() == [4.0]
    assert relative_distances(zeros + 0.5, zeros).tolist() == [0.5]


@settings(deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), scale=st.floats(0.01, 1000))
def test_relative_distances_do_not_depend_on_the_unit(seed: int, scale: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    inputs, references = torch.rand(2, 3, 5, generator=rng) + 0.1
    once, scaled = (relative_distances(inputs * by, references * by) for by in (1, scale))
    torch.testing.assert_close(once, scaled)


def test_bytes_are_far_from_each_other_both_ways() -> None:
    dark, bright = torch.zeros(1, 4, dtype=torch.uint8), torch.full((1, 4), 200, dtype=torch.uint8)
    assert relative_distances(dark, bright).tolist() == [1.0]
    assert lengths(bright).tolist() == [400.0]
    assert relative_distances(bright, dark).tolist() == [200.0]


def test_sizes_are_told_by_the_usual_measures() -> None:
    references = torch.tensor([[3.0, 4.0, 0.0], [1.0, 0.0, 0.0]])
    inputs = references + torch.tensor([[-3.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    told = {name: values.tolist() for name, values in sizes(inputs, references).items()}
    assert told == {"L0": [2, 0], "L2": [5.0, 0.0], "relative L2": [1.0, 0.0], "L∞": [4.0, 0.0]}
