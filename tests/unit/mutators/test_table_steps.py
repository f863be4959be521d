"""Steps of columns: near the root, few at once, and together where asked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.inferred_table import inferred_table
from jostle.inputs.table import Table
from jostle.inputs.table_columns import Column, ColumnKind
from jostle.inputs.table_groups import Group, Together
from jostle.lineage import Change, Mutation
from jostle.mutators.table import TableSteps
from jostle.randomness import randomness
from jostle.records import Candidates
from making import batch_of

REAL, INTEGER, BOOLEAN, CATEGORY = ColumnKind
TABLE = Table(
    (
        Column("wide", REAL, 0, 1000),
        Column("narrow", REAL, 0, 0.001),
        Column("years", INTEGER, 0, 40),
        Column("few", INTEGER, 1, 4),
        Column("owner", BOOLEAN, 0, 1),
        Column("colour", CATEGORY, 0, 2, codes=(0.0, 1.0, 2.0), labels=("blue", "green", "red")),
        Column("size", CATEGORY, 1, 40, codes=(1.0, 7.0, 40.0)),
        Column("constant", REAL, 5, 5, fixed=True),
        *(Column(f"share {i}", REAL, 0.0, 0.8) for i in range(3)),
        *(Column(f"is {i}", BOOLEAN, 0, 1) for i in range(3)),
        Column("first", REAL, 0, 5),
        Column("last", REAL, 0, 50),
    ),
    (
        Group(Together.SHARES, (8, 9, 10)),
        Group(Together.ONE_HOT, (11, 12, 13)),
        Group(Together.ORDERED, (14, 15)),
    ),
)
ROW = torch.tensor([500.0, 0.0005, 20, 2, 1, 2, 7, 5, 0.2, 0.5, 0.3, 0, 1, 0, 2, 3])
UNORDERED = [4, 5, 6, 11, 12, 13]


def roots(rows: int = 400) -> Tensor:
    away = torch.randn(rows, len(ROW), generator=randomness(9, 0)) * TABLE.span / 3
    return TABLE.nearest(ROW + away, ROW.expand(rows, -1))


def generations(mutator: TableSteps, parents: Candidates, count: int) -> Candidates:
    """The children of children."""
    for step in range(count):
        parents = mutator.mutate(parents, randomness(0, step))
        assert TABLE.outside(parents.inputs) is None
    return parents


def units_changed(rows: Candidates) -> Tensor:
    """[rows] how many columns differ from the root, where a group counts once."""
    changed = rows.inputs != rows.references
    groups = [changed[:, list(group.columns)].any(1) for group in TABLE.groups]
    return changed[:, :8].sum(1) + torch.stack(groups, 1).sum(1)


@pytest.mark.parametrize("choices", [{}, {"radius": 0.1}, {"joint": 1.0}, {"radius": 0.3, "joint": 0.5}])
def test_however_many_mutations_few_columns_differ_from_the_root(choices: dict[str, Any]) -> None:
    mutator = TableSteps(TABLE, roots(), columns=4, **choices)
    children = generations(mutator, batch_of(roots()), 12)
    counts = units_changed(children)
    assert int(counts.max()) == 4
    assert torch.equal(children.inputs[:, 7], children.references[:, 7])


def test_within_a_radius_numbers_stay_near_the_root_and_other_values_stay() -> None:
    children = generations(TableSteps(TABLE, roots(), radius=0.1, columns=9), batch_of(roots()), 12)
    away = (children.inputs - children.references).abs()
    assert not away[:, UNORDERED].any()
    assert (away <= 0.1 * TABLE.span + 1e-4).all(0)[[0, 1, 2, 8, 9, 10, 14, 15]].all()
    assert away[:, 2].max() == 4 and away[:, 3].max() == 1  # one off, where a tenth is less


def test_a_radius_of_one_lets_every_value_change() -> None:
    children = generations(TableSteps(TABLE, roots(), radius=1.0, columns=9), batch_of(roots()), 12)
    assert ((children.inputs != children.references).any(0) | TABLE.fixed).all()


def test_every_child_differs_and_says_by_which_columns() -> None:
    parents = batch_of(roots())
    children = TableSteps(TABLE, roots()).mutate(parents, randomness(0, 0))
    changed = children.inputs != parents.inputs
    assert changed.any(1).all() and children.changed.all()
    for row in range(50):
        names = {operation.removeprefix("step ") for operation in children.mutations[row].operations}
        differ = {name for name, differs in zip(TABLE.names, changed[row].tolist(), strict=True) if differs}
        together = {name for group in TABLE.groups for name in (TABLE.names[place] for place in group.columns)}
        assert names - together <= differ and differ - together <= names


def test_steps_are_shares_of_the_span_of_each_column() -> None:
    table = Table(TABLE.columns[:2])
    middle = ROW[:2].repeat(4000, 1)
    children = TableSteps(table, middle, columns=1).mutate(batch_of(middle), randomness(0, 0)).inputs
    for place, span in enumerate((1000, 0.001)):
        steps = (children - middle)[:, place]
        assert float(steps[steps != 0].std()) == pytest.approx(0.1 * span, rel=0.1)


def test_other_categories_are_all_alike_likely() -> None:
    table = Table((TABLE.columns[6],))
    rows = torch.full((3000, 1), 7.0)
    children = TableSteps(table, rows, columns=1).mutate(batch_of(rows), randomness(0, 0)).inputs
    assert set(children.unique().tolist()) == {1.0, 40.0}
    assert float((children == 1).float().mean()) == pytest.approx(0.5, abs=0.05)


def test_columns_taken_together_come_from_one_seed() -> None:
    """Where the seeds hold equal values in all columns, those that a child takes are equal too."""
    seeds = torch.arange(50.0)[:, None].expand(50, 4) + 0.5
    parents = batch_of(torch.full((300, 4), 0.5), references=torch.full((300, 4), 0.5))
    children = TableSteps(inferred_table(seeds), seeds, joint=1.0).mutate(parents, randomness(0, 0))
    taken = [row[row != 0.5].unique() for row in children.inputs]
    assert max(map(len, taken)) == 1
    several = [(row != 0.5).sum() > 1 for row in children.inputs]
    assert sum(map(bool, several)) > 100
    assert any("of another seed" in str(mutation) for mutation in children.mutations)


def test_a_child_that_takes_what_it_has_is_told_to_be_unchanged() -> None:
    seeds = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    children = TableSteps(inferred_table(seeds), seeds[:1], joint=1.0).mutate(batch_of(seeds[:1]), randomness(0, 0))
    assert children.mutations[0].change is Change.UNCHANGED


def test_names_of_columns_do_not_break_the_text_of_a_mutation() -> None:
    seeds = torch.tensor([[1.0, 2.0], [3.0, 4.5]])
    table = inferred_table(seeds, ["a + b", "c: d"])
    for mutation in TableSteps(table, seeds).mutate(batch_of(seeds), randomness(0, 0)).mutations:
        assert Mutation.parsed(str(mutation)) == mutation


@pytest.mark.parametrize(
    ("seeds", "radius", "problem"),
    [
        ([[1.0, 2.0], [1.0, 2.0]], None, "every column is the same in all seeds.*--domain"),
        ([[0.0, 1.0], [1.0, 0.0]], 0.5, "give --radius 1"),
    ],
)
def test_a_table_in_which_nothing_may_change_is_refused(
    seeds: list[list[float]], radius: float | None, problem: str
) -> None:
    rows = torch.tensor(seeds)
    with pytest.raises(UsageError, match=problem):
        TableSteps(inferred_table(rows), rows, radius=radius)
