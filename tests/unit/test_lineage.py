"""How inputs came from their seeds: mutations, and what mutators must know of the way."""

from __future__ import annotations

import pytest
import torch

from jostle.inputs.geometry import Placements, unmoved
from jostle.lineage import NO_GRADIENT, SEED, UNCHANGED, Mutation, Untouched, joined, of_one_kind, selected

TEXTS = {
    "": SEED,
    "unchanged": UNCHANGED,
    "gradient not finite": NO_GRADIENT,
    "noise": Mutation(("noise",)),
    "contrast 1.2": Mutation(("contrast 1.2",)),
    "gradient: ascent, step 2": Mutation(("ascent, step 2",), mutator="gradient"),
    "add layer + swap neurons": Mutation(("add layer", "swap neurons")),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_mutation_is_written_and_read_back(text: str) -> None:
    assert str(TEXTS[text]) == text and Mutation.parsed(text) == TEXTS[text]


@pytest.mark.parametrize("text", ["a: b: c", "rot + : 5", ":", "a:b", " + ", "none: the seed itself"])
def test_any_text_reads_back_to_a_mutation_of_the_same_text(text: str) -> None:
    assert str(Mutation.parsed(text)) == text


def test_what_is_untouched_is_its_own_reference() -> None:
    roots = torch.rand(3, 2)
    assert torch.equal(Untouched(3).references(roots), roots) and Untouched(3).moved.tolist() == [False] * 3


def test_untouched_rows_take_the_form_of_the_others() -> None:
    moved = Placements(torch.rand(2, 2, 3))
    assert of_one_kind([Untouched(2), Untouched(1)]) == [Untouched(2), Untouched(1)]
    whole = joined([Untouched(2), moved, Untouched(1)])
    assert whole.moved.tolist() == [False, False, True, True, False]
    assert torch.equal(whole.rows, torch.cat([unmoved(2), moved.rows, unmoved(1)]))


def test_joining_what_was_selected_gives_the_lineage_back() -> None:
    whole = Placements(torch.rand(5, 2, 3))
    parts = [selected(whole, rows) for rows in torch.arange(5).split(2)]
    assert torch.equal(joined(parts).rows, whole.rows)
    assert joined([selected(Untouched(5), rows) for rows in torch.arange(5).split(2)]) == Untouched(5)
