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
