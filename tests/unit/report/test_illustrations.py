"""Seed, change and mutant of images, volumes and sounds."""

from __future__ import annotations

import torch

from jostle.report.illustrations import LESS, MORE, drawn_alone, drawn_finding
from jostle.storage.drawn_arrays import drawable


def captions(arrays: dict[str, torch.Tensor], sound: bool = False) -> list[str]:
    return [one.caption for one in drawn_finding(arrays, sound)]


def test_seed_change_and_mutant_stand_side_by_side(rng: torch.Generator) -> None:
    seed = torch.rand(1, 9, 7, generator=rng)
    mutant = seed.clone()
    mutant[0, 2, 3] += 0.05
    mutant[0, 4, 1] -= 0.05
    drawn = drawn_finding({"reference": seed, "input": mutant}, False)
    assert [one.name for one in drawn] == ["seed", "", "input"]
    change = drawn[1].pixels
    assert change.shape == (3, 9, 7) and drawn[1].caption.startswith("change, amplified ")
    assert change[:, 2, 3].tolist() == list(MORE) and change[:, 4, 1].tolist() == list(LESS)
    assert len(change.flatten(1).unique(dim=1).T) == 3  # and all else is neutral


def test_of_an_input_that_was_only_moved_the_change_is_from_the_seed_itself() -> None:
    seed = torch.zeros(1, 5, 5)
    seed[0, 0] = 1
    moved = seed.roll(1, 1)
    assert captions({"seed": seed, "reference": moved, "input": moved}) == ["seed", "change", "mutant"]
    changed = moved.clone()
    changed[0, 0, 0] = 0.5
    arrays = {"seed": seed, "reference": moved, "input": changed}
    assert captions(arrays) == ["seed", "seed, moved alike", "change, amplified 2 times", "mutant"]


def test_the_minimised_mutant_comes_before_the_one_found() -> None:
    seed = torch.zeros(1, 4, 4)
    arrays = {"reference": seed, "input": seed + 1, "minimised": seed + 0.5}
    assert captions(arrays) == ["seed", "change, amplified 2 times", "smallest mutant", "mutant as found"]


def test_a_minimised_mutant_that_is_moved_otherwise_is_compared_with_the_seed_moved_alike() -> None:
    seed = torch.zeros(1, 6, 6)
    seed[0, 0] = 1
    small = seed.roll(1, 1)
    small[0, 4, 4] = 0.5
    arrays = {"seed": seed, "reference": seed.roll(3, 1), "input": seed.roll(3, 1), "minimised": small}
    drawn = drawn_finding({**arrays, "minimised-reference": seed.roll(1, 1)}, False)
    assert [one.caption for one in drawn][1:3] == ["seed, moved alike", "change, amplified 2 times"]
    assert drawn[1].pixels[0, 1].tolist() == [255] * 6
    assert drawn[2].pixels[:, 4, 4].tolist() == list(MORE) and len(drawn[2].pixels.flatten(1).unique(dim=1).T) == 2


def test_rounding_to_eight_bits_after_a_move_is_no_change(rng: torch.Generator) -> None:
    seed = (torch.rand(1, 8, 8, generator=rng) * 255).round() / 255
    seed[0, 0, :2] = torch.tensor([0.0, 1.0])
    moved = (seed + seed.roll(1, 2)) / 2  # between two pixels
    rounded = (moved * 255).round() / 255
    assert bool((rounded != moved).any())
    shown = drawn_finding({"seed": seed, "reference": moved, "input": rounded}, False)
    assert [one.name for one in shown] == ["seed", "", "input"]  # the change is from the seed itself, by the move
    assert float(shown[1].caption.split()[2]) < 10


def test_a_seed_that_fails_itself_has_no_change() -> None:
    seed = torch.zeros(1, 4, 4)
    assert captions({"reference": seed, "input": seed}) == ["seed", "no change", "mutant"]


def test_colours_volumes_and_sounds_are_drawn(rng: torch.Generator) -> None:
    for shape, sound in (((3, 8, 8), False), ((1, 4, 8, 8), False), ((1, 500), True), ((500,), True)):
        seed = torch.rand(shape, generator=rng)
        drawn = drawn_finding({"reference": seed, "input": (seed * 0.9)}, sound)
        assert len(drawn) == 3 and all(one.pixels.dtype == torch.uint8 and one.pixels.shape[0] == 3 for one in drawn)
        assert drawn_alone(seed, sound).ndim == 3


def test_what_is_no_picture_is_not_drawn() -> None:
    assert not drawable(torch.rand(10), False) and not drawable(torch.rand(2, 8, 8), False)
    assert not drawable(torch.full((1, 8, 8), torch.nan), False) and not drawable(torch.rand(1, 0, 8), False)
    assert drawable(torch.rand(10), True) and not drawable(torch.empty(0), True)
