"""How near a model and its twins come to disagreeing, seed by seed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.feedback.gap import (
    STEPS,
    NearerToDisagreement,
    highest_before,
    nearness_named,
    to_another_label,
    to_another_top,
    to_other_numbers,
)
from jostle.randomness import randomness
from jostle.records import TWIN, Trace
from jostle.task import LabelReading, Task
from making import assessed, trace_of

YES_OR_NO = LabelReading(Task.MULTILABEL, 0.5)


def lead_of(*leads: float) -> Trace:
    """Scores of three classes, the first so far before the second, in the model and its twin alike."""
    rows = torch.tensor([[8.0, 8.0 - lead, 0.0] for lead in leads])
    return trace_of(rows, rows.clone())


def of_the_best() -> NearerToDisagreement:
    return NearerToDisagreement({TWIN: to_another_top()})


def test_half_the_gap_is_a_gain_of_one() -> None:
    gap = of_the_best()
    assert assessed(gap, lead_of(4.0)).tolist() == [1.0]
    assert assessed(gap, lead_of(2.0, 2.0, 0.5)).tolist() == [1.0, 0.0, 2.0]
    assert gap.coverage() == {"gap": {"halvings": 4.0, "mean halvings": 4.0}}


def test_every_seed_has_a_gap_of_its_own() -> None:
    gap = of_the_best()
    gains = assessed(gap, lead_of(4.0, 1.0, 2.0, 0.5, 1.0), torch.tensor([0, 2, 0, 2, 1]), seeds=4)
    assert gains.tolist() == [1.0, 3.0, 1.0, 1.0, 3.0]
    assert assessed(gap, lead_of(0.25, 4.0), torch.tensor([1, 3]), seeds=4).tolist() == [2.0, 1.0]
    assert gap.coverage() == {"gap": {"halvings": 5.0, "mean halvings": (2 + 5 + 4 + 1) / 4}}


def test_what_hardly_comes_nearer_is_not_new() -> None:
    gap = of_the_best()
    assert assessed(gap, lead_of(4.0, 4.0 * 2 ** (-0.4 / STEPS), 4.0 * 2 ** (-1.5 / STEPS))).tolist()[1:] == [
        0.0,
        pytest.approx(1 / STEPS),
    ]


def test_the_gap_is_that_of_whoever_is_nearer() -> None:
    model, twin = torch.tensor([[8.0, 4.0, 0.0]]), torch.tensor([[8.0, 7.0, 0.0]])
    assert to_another_top()(model, twin).tolist() == to_another_top()(twin, model).tolist() == [3.0]


def test_the_gap_of_the_best_two_is_between_the_second_and_the_third() -> None:
    scores = torch.tensor([[8.0, 7.5, 3.5, 0.0]])
    assert to_another_top(2)(scores, scores).tolist() == [1.0]


def test_a_margin_that_leads_do_not_differ_by_keeps_a_tie_from_being_near() -> None:
    tie, apart = torch.tensor([[8.0, 8.0, 0.0]]), torch.tensor([[8.0, 6.0, 0.0]])
    assert to_another_top(margin=2.0)(tie, tie).tolist() == [2.0]
    assert to_another_top(margin=2.0)(apart, tie) > 16


def test_a_label_is_as_near_as_its_score_is_to_the_cut() -> None:
    model, twin = torch.tensor([[0.9, 0.1], [0.9, 0.4]]), torch.tensor([[0.9, 0.4], [0.55, 0.1]])
    torch.testing.assert_close(to_another_label(0.5)(model, twin), torch.tensor([2.0, 3.0]))


def test_numbers_are_nearer_the_more_they_differ() -> None:
    model = torch.tensor([[1.0, 2.0]])
    near = [float(to_other_numbers(model, model + torch.tensor([[0.0, d]]))) for d in (0.0, 1e-4, 1e-3, 0.1)]
    assert near[0] == 0 and near == sorted(near) and len(set(near)) == 4


@pytest.mark.parametrize("agree", ["argmax", "top2", "labels", "1e-3"])
def test_a_row_that_disagrees_is_as_near_as_can_be_or_nearer_than_one_that_does_not(agree: str) -> None:
    nearness = nearness_named(agree, YES_OR_NO)
    model = torch.tensor([[0.9, 0.8, 0.2]])
    same, other = nearness(model, model), nearness(model, torch.tensor([[0.2, 0.3, 0.9]]))
    assert other > same


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 10**6), count=st.integers(0, 30))
def test_the_highest_before_is_that_of_a_loop_over_rows(seed: int, count: int) -> None:
    rng = randomness(seed, count)
    groups, values = (torch.randint(5, (count,), generator=rng) for _ in range(2))
    start = torch.randint(4, (5,), generator=rng)
    highest, expected = start.clone(), list[int]()
    for group, value in zip(groups.tolist(), values.tolist(), strict=True):
        expected.append(int(highest[group]))
        highest[group] = max(int(highest[group]), value)
    assert highest_before(groups, values, start).tolist() == expected


def test_each_twin_has_a_gap_of_its_own() -> None:
    gap = NearerToDisagreement({"int8": to_another_top(), "float16": to_another_top()})

    def seen(int8: float, float16: float) -> Tensor:
        outputs = {"model": 1.0, "int8": int8, "float16": float16}
        rows = {name: torch.tensor([[8.0, 8.0 - lead * 4, 0.0]]) for name, lead in outputs.items()}
        return assessed(gap, Trace(torch.zeros(1, dtype=torch.int64), rows))

    assert [seen(1.0, 1.0).item(), seen(0.5, 1.0).item(), seen(0.5, 0.25).item(), seen(1.0, 1.0).item()] == [
        2.0,
        1.0,
        2.0,
        0.0,
    ]
