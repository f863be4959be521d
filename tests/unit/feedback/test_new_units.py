"""First-time bookkeeping."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.feedback import new_units
from jostle.feedback.new_units import AT_ONCE, NewUnits
from jostle.randomness import randomness

TOTAL = 30


def slowly(seen: set[int], rows: list[list[int]], total: int) -> list[int]:
    """How many units each row is the first to cover; `seen` grows."""
    gains = []
    for row in rows:
        new = set(row) - seen - {total}
        gains.append(len(new))
        seen |= new
    return gains


def units_from(seed: int, count: int, width: int) -> Tensor:
    """Different units in each row [count, width], some of them `total`, which stands for nothing."""
    rng = randomness(seed, count)
    rows = torch.stack([torch.randperm(TOTAL, generator=rng)[:width] for _ in range(count)])
    return torch.where(torch.rand(rows.shape, generator=rng) < 0.3, TOTAL, rows)


batches = st.lists(st.builds(units_from, st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 5)), max_size=5)


@pytest.fixture(params=["all rows at once", "row by row"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "row by row":
        monkeypatch.setattr(new_units, "WIDE", 0)


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=batches)
def test_each_unit_belongs_to_the_first_row_that_covers_it(batches: list[Tensor]) -> None:
    new, seen = NewUnits(TOTAL), set[int]()
    for units in batches:
        assert new.add(units).tolist() == slowly(seen, units.tolist(), TOTAL)
        assert new.count == len(seen)
    assert new.covered().nonzero().squeeze(1).tolist() == sorted(seen)
    for units in batches:
        assert not new.add(units).any()


@settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(units=st.builds(units_from, st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 5)))
def test_a_batch_is_worth_its_rows_one_after_another(units: Tensor) -> None:
    at_once, in_turn = NewUnits(TOTAL), NewUnits(TOTAL)
    assert torch.equal(at_once.add(units), torch.cat([in_turn.add(row[None]) for row in units]))


def test_covering_nothing_is_never_new() -> None:
    new = NewUnits(3)
    assert new.add(torch.full((4, 2), 3)).tolist() == [0] * 4
    assert new.count == 0 and not new.covered().any()


@pytest.mark.parametrize("rows", [0, AT_ONCE, AT_ONCE + 1, 2 * AT_ONCE + 50, 40_000])
def test_any_number_of_rows_is_counted(rows: int) -> None:
    total = 3 * AT_ONCE
    units = torch.randint(total, (rows, 1), generator=randomness(0, rows))
    new, seen = NewUnits(total), set[int]()
    assert new.add(units).tolist() == slowly(seen, units.tolist(), total)
    assert new.count == len(seen)


def test_the_last_row_of_many_owns_what_only_it_covers() -> None:
    units = torch.zeros(AT_ONCE + 5, 1, dtype=torch.int64)
    units[-1] = units[AT_ONCE - 1] = 1
    gain = NewUnits(2).add(units)
    assert gain.nonzero().squeeze(1).tolist() == [0, AT_ONCE - 1]
