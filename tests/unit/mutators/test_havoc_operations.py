"""What havoc does to arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jostle.mutators.havoc_operations import CHANGES, FEW, MOVES, Array, Material, Palette, regions

SHAPES = ((40, 8), (40, 3, 6, 5), (40, 1, 7), (40, 1), (40,))
FLOATS = np.dtype(np.float32)


def material(
    low: float = -1, high: float = 1, asked: tuple[str, ...] = (), seed: int = 0, donors: Array | None = None
) -> Material:
    extent = 2.0 if math.isinf(high) else high - low
    palette = Palette.of(low, high, extent, asked, FLOATS)
    return Material(palette, np.zeros((1, 1)) if donors is None else donors, np.random.default_rng(seed))


def numbered(shape: tuple[int, ...]) -> Array:
    """Rows in which no value stands twice."""
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["swap", "shuffle"])
def test_moves_keep_the_values_of_each_row(name: str, shape: tuple[int, ...]) -> None:
    rows = numbered(shape)
    moved = MOVES[name](rows, material())
    assert moved.shape == shape
    assert np.array_equal(np.sort(moved.reshape(40, -1)), rows.reshape(40, -1))
    if math.prod(shape[1:]) > 1:
        assert (moved != rows).any()


@pytest.mark.parametrize("seed", range(5))
def test_a_swap_changes_the_places_of_two_blocks_of_one_length(seed: int) -> None:
    rows = np.tile(np.arange(9), (200, 1))
    moved = MOVES["swap"](rows, material(seed=seed))
    assert (moved != rows).any(1).all()
    again = np.take_along_axis(moved, moved, 1)
    assert np.array_equal(again, rows)  # whatever has gone somewhere has come from there


@pytest.mark.parametrize("seed", range(5))
def test_a_copy_is_a_run_of_neighbours_from_elsewhere(seed: int) -> None:
    rows = np.tile(np.arange(9), (200, 1))
    copied = MOVES["copy"](rows, material(seed=seed))
    for row in copied[(copied != rows).any(1)]:
        places = np.flatnonzero(row != np.arange(9))
        assert len(places) <= 4 and np.array_equal(places, np.arange(places[0], places[-1] + 1))
        assert len(set(row[places] - places)) == 1
    assert (copied != rows).any(1).mean() > 0.5


@pytest.mark.parametrize("name", MOVES)
def test_every_axis_moves_in_some_step(name: str) -> None:
    rows = numbered((6, 3, 4, 5))
    kept_by_axis = [rows.sum(axis) for axis in (1, 2, 3)]
    moved = [MOVES[name](rows, material(seed=seed)) for seed in range(30)]
    if name != "copy":  # which values stand in a line along the axis that moves stays so
        for axis, kept in zip((1, 2, 3), kept_by_axis, strict=True):
            assert any(np.array_equal(some.sum(axis), kept) for some in moved)
    assert any((some != rows).any() for some in moved)


def test_a_negative_is_one_of_the_sign_or_in_the_range() -> None:
    rows = np.array([[0.25, 1.0]], np.float32)
    assert CHANGES["negate"](rows, material(-1, 1)).tolist() == [[-0.25, -1.0]]
    assert CHANGES["negate"](rows, material(-2, 1)).tolist() == [[-0.25, -1.0]]
    assert CHANGES["negate"](rows, material(0, 1)).tolist() == [[0.75, 0.0]]  # as of a photograph
    assert CHANGES["negate"](rows, material(-math.inf, math.inf)).tolist() == [[-0.25, -1.0]]


@pytest.mark.parametrize("name", ["ends", "special", "fill"])
def test_each_row_is_set_to_one_value(name: str) -> None:
    assert CHANGES[name](numbered((40, 3, 2)), material()).shape == (40, 1, 1)


def test_scaled_and_shifted_rows_keep_their_proportions_and_differences() -> None:
    rows = numbered((40, 5)) + 1
    scaled, shifted = (CHANGES[name](rows, material()) for name in ("scale", "shift"))
    factors = scaled / rows
    assert np.allclose(factors, factors[:, :1], rtol=1e-5)
    assert 1 / 16 <= factors.min() < 1 < factors.max() <= 16
    assert np.allclose(shifted - rows, (shifted - rows)[:, :1], atol=1e-4)


def test_splicing_takes_values_of_donors() -> None:
    donors = numbered((3, 2, 2)) + 100
    spliced = CHANGES["splice"](np.zeros((50, 2, 2), np.float32), material(donors=donors))
    assert {row.tobytes() for row in spliced} == {row.tobytes() for row in donors}


def specials(low: float, high: float, *asked: str) -> list[float]:
    return [float(value) for value in Palette.of(low, high, 1.0, asked, FLOATS).special]


def test_special_values_are_zeros_of_both_signs_tiny_huge_and_the_ends() -> None:
    values = specials(-300.0, 70_000.0)
    assert {math.copysign(1, value) for value in values if value == 0} == {1.0, -1.0}
    tiny = [value for value in values if 0 < abs(value) < 1e-37]
    assert any(abs(value) < np.finfo(np.float32).tiny for value in tiny) and {value > 0 for value in tiny} == {
        True,
        False,
    }
    assert {-300.0, 70_000.0, 65_536.0} <= set(values)
    assert all(-300 <= value <= 70_000 for value in values)


def test_only_values_of_the_range_are_special() -> None:
    assert set(specials(0.5, 0.75)) == {0.5, 0.75}


def test_without_bounds_the_largest_numbers_are_special_and_others_only_if_asked_for() -> None:
    plain = specials(-math.inf, math.inf)
    largest = float(np.finfo(np.float32).max)
    assert {largest, -largest} <= set(plain) and all(map(math.isfinite, plain))
    asked = specials(-math.inf, math.inf, "nan", "inf")
    assert any(map(math.isnan, asked)) and {math.inf, -math.inf} <= set(asked)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_region_is_everything_or_a_block_or_a_few_entries(shape: tuple[int, ...]) -> None:
    where = regions(np.zeros((300, *shape[1:]), np.float32), np.random.default_rng(0))
    assert where.shape == (300, *shape[1:]) and where.dtype == bool
    counts = where.reshape(300, -1).sum(1)
    assert (counts > 0).all()
    if math.prod(shape[1:]) > 20:
        assert 0.2 < (counts == math.prod(shape[1:])).mean() < 0.5
        blocks = np.array([_is_box(row) for row in where])
        assert 0.5 < blocks.mean() < 0.9
        assert (counts[~blocks] <= FEW).all()


def _is_box(row: Array) -> bool:
    """Whether what is true is all that stands between its ends along every axis."""
    places = np.argwhere(row)
    return int(np.prod(np.ptp(places, axis=0) + 1)) == len(places)
