"""Mutations as columns tell the same as mutations one by one."""

from __future__ import annotations

import pytest
import torch

from jostle.lineage import NO_GRADIENT, SEED, UNCHANGED, Mutation
from jostle.mutations import CollectedMutations, Mutations

TOLD = (SEED, Mutation(("noise",)), UNCHANGED, Mutation(("fill", "swap"), "havoc"), NO_GRADIENT, Mutation(("noise",)))
DRAWN = Mutations(
    (Mutation(("rotation",)), UNCHANGED), torch.tensor([0, 1, 0]), torch.tensor([-12.345, torch.nan, 0.5])
)


def test_what_is_told_one_by_one_is_told_again() -> None:
    assert Mutations.of(TOLD) == TOLD and len(Mutations.of(TOLD)) == 6
    assert [Mutations.of(TOLD)[row] for row in range(6)] == list(TOLD)
    assert Mutations.of(TOLD)[1:3] == TOLD[1:3]


def test_a_parameter_stands_behind_its_operation() -> None:
    assert [str(mutation) for mutation in DRAWN] == ["rotation -12.3", "unchanged", "rotation 0.5"]
    assert DRAWN[0] == Mutation(("rotation -12.3",)) and DRAWN[1] is UNCHANGED


def test_texts_are_those_of_the_mutations() -> None:
    for told in (Mutations.of(TOLD), DRAWN, DRAWN.made_by("images")):
        assert told.texts == tuple(map(str, told))


def test_rows_are_selected_and_joined_in_order() -> None:
    rows = torch.tensor([3, 0, 3])
    assert Mutations.of(TOLD).select(rows) == tuple(TOLD[row] for row in rows.tolist())
    assert Mutations.joined([DRAWN, Mutations.of(TOLD), DRAWN]) == (*DRAWN, *TOLD, *DRAWN)


def test_forms_that_no_row_has_any_more_are_not_collected() -> None:
    collected = CollectedMutations()
    for number in range(10):
        edits = Mutations.of(Mutation((f"edit {number} {row}",)) for row in range(100))
        collected.add(edits.select(torch.tensor([7])))
    assert len(collected.all().forms) == len(collected) == 10


def test_what_came_of_each_is_told_of_all_at_once() -> None:
    told = Mutations.of(TOLD)
    assert told.changed.tolist() == [True, True, False, True, False, True]
    assert told.of_seeds.tolist() == [True] + [False] * 5
    assert told.without_gradient.tolist() == [False] * 4 + [True, False]


def test_only_what_changed_has_the_name_of_its_mutator() -> None:
    assert [str(mutation) for mutation in DRAWN.made_by("images")] == [
        "images: rotation -12.3",
        "unchanged",
        "images: rotation 0.5",
    ]


def test_what_is_collected_stays_as_it_was_while_more_is_added() -> None:
    collected, edits = CollectedMutations(), [Mutation((f"edit {number % 7}",)) for number in range(400)]
    collected.add(Mutations.of(edits[:50]))
    early = collected.all()
    for number in range(50, 400, 2):
        collected.add(Mutations.of(edits[number : number + 2]))
    assert early == tuple(edits[:50]) and collected.all() == tuple(edits) and len(collected) == 400


def test_forms_of_which_hardly_any_comes_twice_are_told_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jostle.mutations.MOST_KNOWN", 3)
    told = [*TOLD, *(Mutation((f"“{number}” left out", "swap"), "texts") for number in range(6)), *TOLD]
    collected = CollectedMutations()
    for some in (told[:4], told[4:], told[:7]):
        collected.add(Mutations.of(some))
    assert collected.all() == (*told, *told[:7])
    assert tuple(collected.all().forms)[:3] == (SEED, Mutation(("noise",)), UNCHANGED)
    assert collected.all().texts == tuple(map(str, (*told, *told[:7])))
