"""Few rows that cover all units."""

from __future__ import annotations

import pytest
import torch

from jostle.feedback.cover import covering_rows


def pairs(sets: list[set[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    both = [(row, unit) for row, units in enumerate(sets) for unit in sorted(units)]
    rows, units = zip(*both, strict=True) if both else ((), ())
    return torch.tensor(rows, dtype=torch.int64), torch.tensor(units, dtype=torch.int64)


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([{1}, {1, 2}, {3}], [1, 2]),
        ([{1, 2}, {2, 1}], [0]),
        ([set(), {7}, set()], [1]),
        ([], []),
        ([{1, 2}, {3, 4}, {1, 2, 3}], [2, 1]),
        ([{5}, {10**12}], [0, 1]),
    ],
)
def test_each_time_whoever_covers_most_of_the_rest_is_chosen(sets: list[set[int]], expected: list[int]) -> None:
    assert covering_rows(*pairs(sets)).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_everything_is_covered_and_each_row_was_chosen_for_something(seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    units = torch.randint(60, (40, 5), generator=rng)
    rows = torch.arange(40)[:, None].expand(40, 5)
    chosen = covering_rows(rows.flatten(), units.flatten())  # units may repeat within a row
    covered: set[int] = set()
    for row in chosen.tolist():
        new = set(units[row].tolist()) - covered
        assert new
        covered |= new
    assert covered == set(units.flatten().tolist())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_share_of_the_units_is_covered_and_not_much_more(seed: int, share: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    units = torch.randint(200, (100, 8), generator=rng)
    rows = torch.arange(100)[:, None].expand(100, 8)
    chosen = covering_rows(rows.flatten(), units.flatten(), share=share)
    needed, reached = share * len(units.unique()), len(units[chosen].unique())
    assert reached >= needed - 1e-6
    assert len(units[chosen[:-1]].unique()) < needed, "the last one was needed"


def test_fewer_rows_cover_less() -> None:
    units = torch.randint(300, (100, 8), generator=torch.Generator().manual_seed(0))
    rows = torch.arange(100)[:, None].expand(100, 8)
    counts = [len(covering_rows(rows.flatten(), units.flatten(), share=share)) for share in (0.5, 0.9, 0.95, 1.0)]
    assert counts == sorted(counts) and counts[0] < counts[-1] / 2


def test_of_rows_that_cover_as_much_the_smallest_is_chosen() -> None:
    rows, units = pairs([{1, 2, 3}, {1, 2, 3}, {4}])
    assert covering_rows(rows, units, torch.tensor([2.0, 1.0, 1.0])).tolist() == [1, 2]
    assert covering_rows(*pairs([{1, 2}, {1}, {2}]), torch.tensor([4.0, 1.0, 1.0])).tolist() == [1, 2], "smaller in all"


def test_of_rows_that_cover_as_many_the_one_with_rare_units_is_chosen() -> None:
    rows, units = pairs([{1, 2}, {1, 3}, {1, 2}])
    assert covering_rows(rows, units, share=0.6).tolist() == [1]
