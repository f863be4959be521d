"""Tables: what the seeds say of their columns, and what is kept of it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.inputs.inferred_table import inferred_table
from jostle.inputs.table import CHANGE, Table
from jostle.inputs.table_columns import Column, ColumnKind
from jostle.inputs.table_groups import Group, Together
from jostle.randomness import randomness

REAL, INTEGER, BOOLEAN, CATEGORY = ColumnKind
EVERYTHING = Table(
    (
        Column("height", REAL, -1.5, 2.25),
        Column("age", INTEGER, 17, 90),
        Column("owner", BOOLEAN, 0, 1),
        Column("colour", CATEGORY, 0, 2, codes=(0.0, 1.0, 2.0), labels=("blue", "green", "red")),
        Column("size", CATEGORY, 1, 40, codes=(1.0, 7.0, 40.0)),
        Column("country", INTEGER, 3, 9, fixed=True),
        *(Column(f"share {i}", REAL, 0.05, 0.8) for i in range(3)),
        *(Column(f"is {i}", BOOLEAN, 0, 1) for i in range(3)),
        Column("first", REAL, 0, 5),
        Column("last", REAL, 1, 6),
    ),
    (
        Group(Together.SHARES, (6, 7, 8)),
        Group(Together.ONE_HOT, (9, 10, 11)),
        Group(Together.ORDERED, (12, 13)),
    ),
)


def anything(seed: int, rows: int = 20) -> Tensor:
    """Rows that lie anywhere."""
    return torch.randn(rows, len(EVERYTHING.columns), generator=randomness(seed, 0)) * 50


def anywhere(seed: int, rows: int = 20) -> Tensor:
    """Rows of the table."""
    root = torch.tensor([0.0, 30, 1, 2, 7, 5, 0.2, 0.5, 0.3, 0, 1, 0, 2, 3]).expand(rows, -1)
    return EVERYTHING.nearest(anything(seed, rows), root)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_the_nearest_row_is_inside_and_inside_it_is_the_row_itself(seed: int) -> None:
    roots = anywhere(seed + 1)
    near = EVERYTHING.nearest(anything(seed), roots)
    assert EVERYTHING.outside(near) is None
    assert torch.equal(EVERYTHING.nearest(near, near), near)
    assert torch.equal(near[:, 5], roots[:, 5])


def test_rows_are_moved_as_they_would_be_alone() -> None:
    rows, roots = anything(0), anywhere(1)
    alone = [EVERYTHING.nearest(row, root) for row, root in zip(rows.split(1), roots.split(1), strict=True)]
    assert torch.equal(EVERYTHING.nearest(rows, roots), torch.cat(alone))


def test_what_is_missing_from_one_is_shared_out_within_the_bounds_of_each_share() -> None:
    row = anywhere(0, 1)
    row[0, 6:9] = torch.tensor([0.8, 0.8, 0.05])
    near = EVERYTHING.nearest(row, row)[0, 6:9]
    assert float(near.sum()) == pytest.approx(1, abs=1e-5)
    assert near[0] == near[1] < 0.8 and near[2] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        (0, 3.0, "height is 3, above 2.25"),
        (1, 16.0, "age is 16, below 17"),
        (1, 20.5, "age is 20.5, not a whole number"),
        (2, 0.5, "owner is 0.5, none of 0/1"),
        (3, 1.5, "colour is 1.5, none of blue/green/red"),
        (4, 8.0, "size is 8, none of 1/7/40"),
        (7, 0.1, "share 0, share 1, share 2 sum to"),
        (9, 1.0, "is 0, is 1, is 2 sum to 2, not 1"),
        (12, 4.0, "first, last are 4, 3, and must not fall"),
        (0, float("nan"), "height is nan"),
    ],
)
def test_the_first_place_outside_is_told_with_its_value(column: int, value: float, problem: str) -> None:
    rows = torch.tensor([0.0, 30, 1, 2, 7, 5, 0.2, 0.5, 0.3, 0, 1, 0, 2, 3]).repeat(3, 1)
    assert EVERYTHING.outside(rows) is None
    rows[1, column] = value
    outside = EVERYTHING.outside(rows)
    assert outside is not None and outside.row == 1 and outside.problem.startswith(problem)


def test_a_finding_shows_the_columns_that_changed_by_their_names_and_values() -> None:
    reference = torch.tensor([0.0, 30, 1, 2, 7, 5, 0.2, 0.5, 0.3, 0, 1, 0, 2, 3])
    changed = reference.clone()
    changed[[0, 3, 4]] = torch.tensor([0.1, 0, 40])
    assert EVERYTHING.files(changed, reference)[CHANGE].decode().splitlines() == [
        "column  seed  input",
        "height  0     0.1",
        "colour  red   blue",
        "size    7     40",
    ]


def seeds() -> Tensor:
    rng = randomness(3, 0)
    real, whole = torch.rand(30, generator=rng) * 9 - 4, torch.randint(-3, 9, (30,), generator=rng).float()
    truths, constant = (torch.rand(30, generator=rng) < 0.5).float(), torch.full((30,), 7.5)
    shares = torch.rand(30, 3, generator=rng).softmax(1)
    place = torch.nn.functional.one_hot(torch.arange(30) % 4, 4).float()
    return torch.cat([torch.stack([real, whole, truths, constant], 1), shares, place], 1)


def test_columns_are_what_their_seeds_hold() -> None:
    table, inputs = inferred_table(seeds()), seeds()
    kinds = [column.kind for column in table.columns]
    assert kinds[:4] == [REAL, INTEGER, BOOLEAN, REAL] and kinds[4:7] == [REAL] * 3 and kinds[7:] == [BOOLEAN] * 4
    assert torch.equal(table.low, inputs.amin(0)) and torch.equal(table.high, inputs.amax(0))
    assert table.fixed.tolist() == [False] * 3 + [True] + [False] * 7
    assert table.groups == (Group(Together.SHARES, (4, 5, 6)), Group(Together.ONE_HOT, (7, 8, 9, 10)))
    assert table.outside(inputs) is None


def test_few_seeds_do_not_make_shares_of_columns() -> None:
    assert inferred_table(seeds()[:7]).groups == ()


def test_a_place_that_no_seed_takes_does_not_hide_the_others() -> None:
    rows = torch.nn.functional.one_hot(torch.tensor([0, 1, 3] * 4), 4).float()
    assert inferred_table(rows).groups == (Group(Together.ONE_HOT, (0, 1, 3)),)


def test_a_table_is_told_in_few_lines() -> None:
    (line, *groups) = inferred_table(seeds(), label="target").lines()
    assert line.startswith("table of 11 columns (4 real, 1 integer, 5 boolean, 1 fixed): x0 -3.")
    assert groups[0] == "x4, x5, x6 sum to one" and groups[-1] == "labels are those of column target"
