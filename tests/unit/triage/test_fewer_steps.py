"""Fewer and smaller steps from a seed to a finding, while the same bug shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from jostle.triage.fewer_steps import HALVINGS, Shows, smallest_shares

NEEDED = st.lists(st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), max_size=4), max_size=5)


def needing(needed: Sequence[Sequence[float]]) -> Shows:
    """A finding shows its bug if each of its steps goes at least as far as it must."""

    def shows(numbers: Sequence[int], shares: Sequence[Sequence[float]]) -> Tensor:
        pairs = zip(numbers, shares, strict=True)
        return torch.tensor([all(map(float.__ge__, map(float, given), needed[number])) for number, given in pairs])

    return shows


@given(NEEDED)
def test_steps_go_as_far_as_they_must_and_no_farther(needed: list[list[float]]) -> None:
    for must, shares in zip(needed, smallest_shares([len(one) for one in needed], needing(needed)), strict=True):
        if not must:
            assert shares is None, "there is no way to go again"
            continue
        assert shares is not None and all(share >= least for share, least in zip(shares, must, strict=True))
        dropped = sum(share == 0 for share in shares)
        assert dropped == min(must.count(0.0), len(must) - 1), "one step stays, because the seed is no finding"
        near = [share - least for share, least in zip(shares, must, strict=True)]
        assert max(near) <= 2**-HALVINGS + 1e-9


@given(NEEDED)
def test_a_batch_of_findings_is_shortened_as_its_findings_alone(needed: list[list[float]]) -> None:
    together = smallest_shares([len(one) for one in needed], needing(needed))
    assert together == [smallest_shares([len(one)], needing([one]))[0] for one in needed]


def test_a_way_that_shows_nothing_when_it_is_gone_again_is_left_alone() -> None:
    assert smallest_shares([2, 1], needing([[0.0, 1.5], [0.5]])) == [None, (pytest.approx(0.5, abs=0.02),)]


def test_the_first_step_that_can_be_left_out_is() -> None:
    def either(numbers: Sequence[int], shares: Sequence[Sequence[float]]) -> Tensor:
        return torch.tensor([max(one) == 1 for one in shares])

    assert smallest_shares([2], either) == [(0.0, 1.0)]
