"""Edits to rows of tokens, and how far they lead."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from jostle.errors import UsageError
from jostle.inputs.edit_distance import edit_distances
from jostle.inputs.tokens import Tokens
from jostle.mutators.bounded_edits import FROM_ROOT, BoundedEdits, EditKind, drawn_places, with_edit
from jostle.mutators.tokens import TokenEdits
from jostle.randomness import randomness
from making import batch_of, texts_of

DOMAIN = Tokens(100, pad=0, special=(1, 2))


def roots(count: int = 64) -> torch.Tensor:
    """Rows [count, 16] of 7 to 12 tokens between marks."""
    rows = torch.randint(3, 100, (count, 16), generator=randomness(0, 0))
    rows[:, 0] = 1
    for row in range(count):
        rows[row, 6 + row % 6] = 2
        rows[row, 7 + row % 6 :] = 0
    return rows


@pytest.mark.parametrize(
    ("kind", "place", "made"),
    [
        (EditKind.NOTHING, 1, [5, 6, 7, 0]),
        (EditKind.SUBSTITUTE, 1, [5, 9, 7, 0]),
        (EditKind.DELETE, 0, [6, 7, 0, 0]),
        (EditKind.INSERT, 0, [9, 5, 6, 7]),
        (EditKind.INSERT, 3, [5, 6, 7, 9]),
        (EditKind.SWAP, 1, [5, 7, 6, 0]),
        (EditKind.DUPLICATE, 2, [5, 6, 7, 7]),
    ],
)
def test_an_edit_does_what_its_name_says(kind: EditKind, place: int, made: list[int]) -> None:
    edited = with_edit(torch.tensor([[5, 6, 7, 0]]), torch.tensor([kind]), torch.tensor([place]), torch.tensor([9]), 0)
    assert edited.tolist() == [made]


def test_a_deletion_from_a_full_row_is_filled_up() -> None:
    edited = with_edit(torch.tensor([[5, 6]]), torch.tensor([EditKind.DELETE]), torch.tensor([1]), torch.tensor([9]), 0)
    assert edited.tolist() == [[5, 0]]


def test_places_are_drawn_from_those_allowed_alone_and_each_is_drawn() -> None:
    allowed = torch.tensor([[False, True, False, True], [False, False, False, False]]).repeat(100, 1)
    places, counts = drawn_places(allowed, randomness(0, 1))
    assert set(places[::2].tolist()) == {1, 3} and counts[:2].tolist() == [2, 0]


@pytest.mark.parametrize(("edits", "bound"), [(0.15, 2), (0.5, 6), (1, 1), (4, 4)])
def test_no_generation_is_farther_from_the_root_than_the_bound(edits: float, bound: int) -> None:
    mutator, parents = BoundedEdits(DOMAIN, TokenEdits(DOMAIN), edits), batch_of(roots())
    reached = 0
    for step in range(8):
        children = mutator.mutate(parents, randomness(1, step))
        lengths = DOMAIN.lengths(children.inputs), DOMAIN.lengths(children.references)
        distances = edit_distances(children.inputs, children.references, *lengths, 16)
        assert (distances <= mutator.bounds(children.references)).all() and int(distances.max()) <= bound
        reached, parents = max(reached, int(distances.max())), replace(parents, inputs=children.inputs)
    assert reached == bound


def test_marks_and_padding_stay_through_all_generations() -> None:
    mutator, parents = BoundedEdits(DOMAIN, TokenEdits(DOMAIN), 6), batch_of(roots())
    for step in range(8):
        rows = mutator.mutate(parents, randomness(2, step)).inputs
        assert DOMAIN.outside(rows) is None
        assert (rows[:, 0] == 1).all() and ((rows == 1).sum(1) == 1).all()
        assert (rows.gather(1, DOMAIN.lengths(rows)[:, None] - 1) == 2).all() and ((rows == 2).sum(1) == 1).all()
        parents = replace(parents, inputs=rows)


def test_every_kind_of_edit_is_made_and_named() -> None:
    texts = texts_of(BoundedEdits(DOMAIN, TokenEdits(DOMAIN), 4).mutate(batch_of(roots()), randomness(3, 0)))
    words = {part.split()[0] for text in texts for part in text.split(" + ")}
    assert words - {"unchanged"} == {"substitute", "delete", "insert", "swap", "duplicate"}


def test_a_parent_at_the_bound_begins_at_its_root_again() -> None:
    rows = roots(8)
    far = rows.clone()
    far[:, 1] = (rows[:, 1] - 3 + 1) % 97 + 3
    children = BoundedEdits(DOMAIN, TokenEdits(DOMAIN), 1).mutate(batch_of(far, references=rows), randomness(0, 1))
    assert all(text.startswith(FROM_ROOT) for text in texts_of(children))


def test_rows_of_marks_alone_are_left_and_say_so() -> None:
    rows = torch.tensor([[1, 2, 0, 0]]).repeat(3, 1)
    children = BoundedEdits(DOMAIN, TokenEdits(DOMAIN)).mutate(batch_of(rows), randomness(0, 1))
    assert torch.equal(children.inputs, rows) and not children.changed.any()


def test_a_vocabulary_without_choice_is_refused() -> None:
    with pytest.raises(UsageError, match="fewer than two are neither padding nor special: give a larger --vocabulary"):
        TokenEdits(Tokens(3, pad=0, special=(1,)))
