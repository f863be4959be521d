"""Taking edits back, one after another."""

from __future__ import annotations

import torch
from torch import Tensor

from jostle.inputs.tokens import Tokens
from jostle.triage.undo import undone

DOMAIN = Tokens(50, pad=0)


def test_only_the_edits_that_the_bug_needs_are_left() -> None:
    references = torch.tensor([[5, 6, 7, 8, 0, 0], [5, 6, 7, 8, 0, 0]])
    inputs = torch.tensor([[9, 6, 33, 8, 11, 0], [5, 7, 8, 33, 0, 0]])

    def shows(rows: Tensor, tried: Tensor) -> Tensor:
        assert len(rows) == len(tried)
        return (tried == 33).any(1)

    assert undone(inputs, references, DOMAIN, shows).tolist() == [[5, 6, 33, 8, 0, 0], [5, 6, 7, 8, 33, 0]]


def test_an_input_that_needs_all_of_its_edits_stays() -> None:
    references, inputs = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[9, 6, 7, 0]])
    small = undone(inputs, references, DOMAIN, lambda rows, tried: torch.zeros(len(rows), dtype=torch.bool))
    assert torch.equal(small, inputs)


def test_a_row_never_grows_beyond_its_width() -> None:
    references, inputs = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[9, 9, 5, 6]])
    small = undone(inputs, references, DOMAIN, lambda rows, tried: torch.ones(len(rows), dtype=torch.bool))
    assert small.shape == inputs.shape and DOMAIN.outside(small) is None
