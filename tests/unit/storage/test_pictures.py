"""Pictures of image-like inputs."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from jostle.lineage import Mutation
from jostle.storage.finding_block import npy
from jostle.storage.finding_record import FindingRecord, InputType
from jostle.storage.pictures import CAPTION, DRAWN, SMALLEST_SIDE, _caption, _way, picture_in, picture_of, readable

RECORD = FindingRecord(
    *(InputType.ARRAY, "flip", "label 1 became 2", "flip:0:1:2", True, 1, 1, 1, "a seed", 0, -1),
    mutation=Mutation(("noise",)),
    largest_change=0.5,
    details={},
)


def picture(input: Tensor, reference: Tensor, **others: Tensor) -> Image.Image | None:
    return picture_of({"input": input, "reference": reference, **others}, {})


@pytest.mark.parametrize("channels", [1, 3])
def test_seed_change_and_mutant_stand_side_by_side(channels: int) -> None:
    reference = torch.zeros(channels, 2, 2)
    mutant = reference.clone()
    mutant[:, 0, 0] = 1.0
    drawn = picture(mutant, reference)
    assert drawn is not None
    pixels = np.asarray(drawn)[:-CAPTION]
    third = SMALLEST_SIDE
    assert pixels[0, 0].tolist() == [0, 0, 0]  # the seed is black there
    assert pixels[0, -third].tolist() == [255, 255, 255]  # the mutant is white
    assert pixels[-1, -1].tolist() == [0, 0, 0]


def test_a_seed_that_was_moved_and_a_minimised_mutant_have_panels_too() -> None:
    grey, black, white = torch.full((1, 2, 2), 0.5), torch.zeros(1, 2, 2), torch.ones(1, 2, 2)
    three, all_six = picture(white, black), picture(white, black, seed=grey, minimised=grey)
    assert three is not None and all_six is not None
    gap = (three.width - 3 * SMALLEST_SIDE) / 2
    assert all_six.width == 6 * SMALLEST_SIDE + 5 * gap
    left, right = (np.asarray(all_six)[0, column].tolist() for column in (0, -1))
    assert left == right == [128, 128, 128]  # the seed as it was, and the minimised mutant


def test_what_the_model_says_is_written_below() -> None:
    arrays = {"input": torch.ones(1, 28, 28), "reference": torch.zeros(1, 28, 28)}
    silent, said = (picture_of(arrays, answers) for answers in ({}, {"reference": "7 (99.0%)", "input": "2 (60.0%)"}))
    assert silent is not None and said is not None and silent.size == said.size
    differs = (np.asarray(silent) != np.asarray(said)).any(2)
    assert not differs[:-CAPTION].any()
    panels = np.array_split(differs[-CAPTION:], 3, axis=1)
    assert [bool(panel.any()) for panel in panels] == [True, False, True]


def test_small_images_are_enlarged_and_large_ones_are_not() -> None:
    small, large = picture(*torch.rand(2, 1, 28, 28)), picture(*torch.rand(2, 3, 300, 200))
    assert small is not None and small.height == 140 + CAPTION
    assert large is not None and large.height == 300 + CAPTION


def test_a_long_narrow_input_does_not_become_a_gigantic_picture() -> None:
    drawn = picture(*torch.rand(2, 1, 1, 16000))
    assert drawn is not None and drawn.width * drawn.height < 10**6


def test_a_constant_image_has_a_picture() -> None:
    assert picture(torch.ones(1, 4, 4), torch.ones(1, 4, 4)) is not None


@pytest.mark.parametrize("shape", [(4,), (4, 4), (2, 4, 4), (2, 3, 4, 4), (1, 1, 3, 4, 4)])
def test_what_is_no_image_has_no_picture(shape: tuple[int, ...]) -> None:
    assert picture(torch.zeros(shape), torch.zeros(shape)) is None


def test_of_a_volume_the_slice_that_changed_most_is_shown() -> None:
    reference = torch.rand(1, 5, 28, 28)
    mutant = reference + torch.tensor([0.1, 0.0, 0.2, -0.4, 0.1]).view(1, 5, 1, 1)
    drawn, slice_of_it = picture(mutant, reference), picture(mutant[:, 3], reference[:, 3])
    assert drawn is not None and slice_of_it is not None
    assert np.array_equal(np.asarray(drawn)[:-CAPTION], np.asarray(slice_of_it)[:-CAPTION])


def test_an_input_with_nan_has_no_picture() -> None:
    assert picture(torch.full((1, 2, 2), torch.nan), torch.zeros(1, 2, 2)) is None


def test_captions_that_are_too_long_go_on_in_another_line() -> None:
    arrays = {"input": torch.ones(1, 28, 28), "reference": torch.zeros(1, 28, 28)}
    short, long, endless = (
        picture_of(arrays, {"input": name}) for name in ("cat", "a cat that has a rather long name", "x" * 90)
    )
    assert short is not None and long is not None and endless is not None
    assert short.width == long.width == endless.width
    assert short.height < long.height < endless.height
    inked = np.asarray(endless)[SMALLEST_SIDE:] < 128
    assert not inked[:, -2:].any(), "nothing is cut off at the edge"


def test_every_step_stands_below() -> None:
    arrays = {"input": torch.ones(1, 28, 28), "reference": torch.zeros(1, 28, 28)}
    without, one, many = (picture_of(arrays, {}, steps=["rotated by 11\u00b0"] * count) for count in (0, 1, 20))
    assert without is not None and one is not None and many is not None
    assert one.height == without.height + CAPTION
    assert many.height > one.height + CAPTION


@pytest.mark.parametrize(("moved", "flat"), [(True, True), (False, False)])
def test_rounding_of_an_image_that_was_moved_is_no_change(moved: bool, flat: bool) -> None:
    reference = torch.rand(1, 28, 28, generator=torch.Generator().manual_seed(0))
    rounded = (reference * 255).round() / 255
    drawn = picture(rounded, reference, **({"seed": reference.flip(1)} if moved else {}))
    assert drawn is not None
    pixels = np.asarray(drawn)[:SMALLEST_SIDE]
    start = (2 if moved else 1) * (SMALLEST_SIDE + 5)
    panel = pixels[:, start : start + SMALLEST_SIDE - 5]
    assert (len(np.unique(panel)) == 1) == flat


def test_an_image_has_a_file_that_other_programs_open_and_an_array_a_table(tmp_path: Path) -> None:
    image = torch.rand(1, 4, 4)
    for name in ("input", "reference"):
        (tmp_path / f"{name}.npy").write_bytes(npy(image))
    (content,) = readable(tmp_path, RECORD, (0.0, 1.0)).values()
    opened = np.asarray(Image.open(BytesIO(content)))
    assert np.abs(opened / 255 - image[0].numpy()).max() <= 0.5 / 255 + 1e-6
    for name, row in (("input", [1.0, 2.5]), ("reference", [1.0, 2.0])):
        (tmp_path / f"{name}.npy").write_bytes(npy(torch.tensor(row)))
    assert readable(tmp_path, RECORD, None) == {"input.csv": b"place,seed,input\n0,1.0,1.0\n1,2.0,2.5\n"}


def spoil(path: Path, what: str) -> None:
    whole = path.read_bytes()
    path.unlink()
    if what == "link":
        path.with_name("elsewhere").write_bytes(whole)
        path.symlink_to(path.with_name("elsewhere"))
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "truncated":
        path.write_bytes(whole[:-1])
    elif what == "no header":
        path.write_bytes(whole[:20])
    elif what == "empty":
        path.write_bytes(b"")
    elif what == "other shape":
        path.write_bytes(npy(torch.zeros(3, 5, 4)))
    elif what == "no values":
        path.write_bytes(npy(torch.zeros(1, 0, 4)))


@pytest.mark.parametrize("wave", [False, True])
@pytest.mark.parametrize(
    "what", ["link", "pipe", "truncated", "no header", "empty", "other shape", "no values", "missing"]
)
@pytest.mark.parametrize("name", [*DRAWN, "label"])
def test_no_picture_is_drawn_of_arrays_that_are_damaged_or_do_not_fit_together(
    name: str, what: str, wave: bool, tmp_path: Path
) -> None:
    for one in DRAWN:
        (tmp_path / f"{one}.npy").write_bytes(npy(torch.rand(1, 4, 4)))
    (tmp_path / "label.npy").write_bytes(npy(torch.tensor(3)))
    if wave:
        (tmp_path / "input.wav").touch()
    assert picture_in(tmp_path, RECORD, (), {}) is not None and (readable(tmp_path, RECORD, None) or wave)
    spoil(tmp_path / f"{name}.npy", what)
    optional = name == "label" or (what == "missing" and name not in ("input", "reference"))
    assert (picture_in(tmp_path, RECORD, (), {}) is not None) == optional
    assert bool(readable(tmp_path, RECORD, None)) == optional


@pytest.mark.parametrize("shape", [(), (0,), (1, 0, 0), (1, 0, 2, 2)])
@pytest.mark.parametrize("wave", [False, True])
def test_no_picture_is_drawn_of_all_arrays_without_values(wave: bool, shape: tuple[int, ...], tmp_path: Path) -> None:
    for one in ("input", "reference"):
        (tmp_path / f"{one}.npy").write_bytes(npy(torch.zeros(shape)))
    if wave:
        (tmp_path / "input.wav").touch()
    assert picture_in(tmp_path, RECORD, (), {}) is None


def test_a_long_way_ends_with_how_many_more_steps_there_are() -> None:
    few = [f"rotated by {number}\u00b0" for number in range(5)]
    assert _way(few) == f"steps: {'; '.join(few)}" and _way([]) == ""
    for count in (80, 5000):
        told = _way([f"step {number:04}" for number in range(count)])
        shown = told.count(";") + 1
        assert 10 < shown < count and told.endswith(f"step {shown - 1:04} … and {count - shown:,} more steps")
    assert _way(["x" * 700, "y"]).endswith("x… … and 1 more step")
    assert _caption("seed", "x" * 700).endswith("x…")
