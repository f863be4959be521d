"""How many edits lie between two rows."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.inputs import edit_distance
from jostle.inputs.edit_distance import edit_distances

rows_of_few = st.lists(st.integers(1, 3), max_size=9)


def by_hand(row: list[int], other: list[int]) -> int:
    distances = list(range(len(other) + 1))
    for place, token in enumerate(row, 1):
        before, distances = distances, [place]
        for column, another in enumerate(other, 1):
            distances.append(min(before[column] + 1, distances[-1] + 1, before[column - 1] + (token != another)))
    return distances[-1]


def padded(rows: list[list[int]]) -> Tensor:
    return torch.tensor([[*row, *[0] * (9 - len(row))] for row in rows])


def lengths(rows: list[list[int]]) -> Tensor:
    return torch.tensor([len(row) for row in rows])


@settings(deadline=None, derandomize=True)
@given(pairs=st.lists(st.tuples(rows_of_few, rows_of_few), min_size=1, max_size=5), most=st.integers(1, 9))
def test_it_is_the_levenshtein_distance_up_to_the_most_that_is_told(
    pairs: list[tuple[list[int], list[int]]], most: int
) -> None:
    rows, others = [row for row, _ in pairs], [other for _, other in pairs]
    found = edit_distances(padded(rows), padded(others), lengths(rows), lengths(others), most)
    assert found.tolist() == [min(by_hand(row, other), most + 1) for row, other in pairs]


def test_a_batch_that_is_cut_into_parts_gives_the_same(monkeypatch: object) -> None:
    rng = torch.Generator().manual_seed(0)
    rows, others = (torch.randint(1, 4, (20, 9), generator=rng) for _ in range(2))
    full = torch.full((20,), 9)
    whole = edit_distances(rows, others, full, full, 4)
    monkeypatch.setattr(edit_distance, "ROOM", 300)  # type: ignore[attr-defined]
    assert torch.equal(edit_distances(rows, others, full, full, 4), whole)
