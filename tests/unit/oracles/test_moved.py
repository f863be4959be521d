"""A change that should not matter may not move a prediction."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.oracles.amounts import Amount
from jostle.oracles.moved import PredictionKept, Tolerance, differences_of_neighbours, in_numbers, tolerance_of
from jostle.records import NO_BUG, Seeds, Verdicts
from making import answered, batch_of, seeds_of, trace_of

SAID = torch.tensor([[1.0, -10.0], [2.0, 100.0], [3.0, 0.0]])


def judged(output: Tensor, tolerance: Tolerance, said: Tensor = SAID) -> Verdicts:
    return PredictionKept(tolerance).judge(answered(batch_of(torch.zeros(len(said), 2)), said), trace_of(output))


def moved(output: Tensor, tolerance: Tolerance, said: Tensor = SAID) -> list[bool]:
    return (judged(output, tolerance, said).bugs != NO_BUG).tolist()


def tolerance(text: str) -> Tolerance:
    return tolerance_of(text)


def test_an_absolute_tolerance_is_the_same_for_all_values() -> None:
    output = SAID + torch.tensor([[0.4, -0.4], [0.6, 0.0], [0.0, -0.6]])
    assert moved(output, tolerance("0.5")) == [False, True, True]


def test_a_relative_tolerance_is_a_share_of_what_was_said_of_the_seed() -> None:
    output = SAID + torch.tensor([[0.09, -0.9], [0.0, 9.0], [0.0, 0.001]])
    assert moved(output, tolerance("10%")) == [False, False, True]


def test_a_bug_is_a_seed_an_output_and_a_direction() -> None:
    said = torch.zeros(1, 2)
    batch = answered(batch_of(torch.zeros(1, 2)), said).select(torch.zeros(5, dtype=torch.int64))
    output = torch.tensor([[2.0, 0.0], [3.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [1.5, 9.0]])
    verdicts = PredictionKept(tolerance("1")).judge(batch, trace_of(output))
    told = [verdicts.describe(row).fingerprint for row in range(5)]
    assert told == ["moved:0:0:rises", "moved:0:0:rises", "moved:0:0:falls", "moved:0:1:rises", "moved:0:1:rises"]
    assert verdicts.describe(0).summary == "output 0 moved from 0 to 2, where 1 is allowed"


def test_a_single_number_for_each_input_is_a_prediction() -> None:
    said, output = torch.tensor([1.0, 1.0]), torch.tensor([1.2, 4.0])
    assert moved(output, tolerance("0.5"), said) == [False, True]
    assert judged(output, tolerance("0.5"), said).describe(1).summary.startswith("the prediction moved from 1 to 4")


def test_what_is_not_finite_is_not_judged() -> None:
    said = torch.tensor([[1.0], [torch.nan], [torch.inf]])
    assert moved(torch.tensor([[torch.nan], [1.0], [1.0]]), tolerance("0.5"), said) == [False, False, False]


def line_of(answers: Tensor) -> Seeds:
    """Seeds on a line with these answers."""
    return replace(seeds_of(torch.tensor([[0.0], [1.0], [2.5], [4.5], [9.0]])), answers=answers)


def test_what_neighbours_differ_by_is_the_median_of_each_value() -> None:
    answers = torch.tensor([[0.0, 5.0], [1.0, 5.5], [3.0, 5.0], [4.0, 6.0], [100.0, 9.0]])
    # The nearest are 1, 0, 1, 2, 3: differences 1, 1, 2, 1, 96 and 0.5, 0.5, 0.5, 1, 3.
    assert differences_of_neighbours(line_of(answers)).tolist() == [1.0, 0.5]  # type: ignore[union-attr]
    assert in_numbers("3x", line_of(answers)) == "3,1.5"
    assert in_numbers("10%", line_of(answers)) == "10%"
    assert tolerance_of("3,1.5").fixed.tolist() == [3.0, 1.5]


def test_where_most_neighbours_have_one_answer_it_is_the_mean() -> None:
    answers = torch.tensor([[0.0], [0.0], [0.0], [0.0], [10.0]])
    assert differences_of_neighbours(line_of(answers)).tolist() == [2.0]  # type: ignore[union-attr]


def test_copies_of_a_seed_and_seeds_that_the_model_fails_on_are_no_neighbours() -> None:
    inputs = torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.1, 1.0]])
    seeds = replace(seeds_of(inputs), answers=torch.tensor([1.0, 1.0, 4.0, torch.nan]))
    assert differences_of_neighbours(seeds).tolist() == [3.0]  # type: ignore[union-attr]


def test_columns_of_a_table_count_alike_whatever_their_units() -> None:
    inputs = torch.tensor([[0.0, 0.0], [1.0, 100.0], [0.0, 900.0], [1.0, 1000.0]])
    answers = torch.tensor([0.0, 5.0, 1.0, 7.0])  # by metres the first two are near, by both columns 0 and 2 are not
    stretched = replace(seeds_of(inputs * torch.tensor([1e4, 1.0])), answers=answers)
    assert torch.equal(
        *(
            torch.as_tensor(differences_of_neighbours(one))
            for one in (stretched, replace(seeds_of(inputs), answers=answers))
        )
    )


@pytest.mark.parametrize("answers", [torch.zeros(5, 1), torch.full((5, 1), torch.nan)])
def test_a_multiple_of_nothing_is_refused(answers: Tensor) -> None:
    with pytest.raises(UsageError, match=r"--tolerance 3x needs seeds that differ.* such as 0\.5"):
        in_numbers("3x", line_of(answers))


def test_predictions_are_compared_with_labels_where_there_are_any() -> None:
    seeds = replace(seeds_of(torch.zeros(3, 2), torch.tensor([1.0, 2.5, 9.0])), answers=torch.tensor([1.0, 2.0, 3.0]))
    on_seeds = PredictionKept(tolerance("1")).on_seeds(seeds)
    assert on_seeds is not None and on_seeds.wrong.tolist() == [False, False, True]
    assert on_seeds.figure == pytest.approx(6.5 / 3) and on_seeds.measure == "mean absolute error"
    assert PredictionKept(tolerance("1")).on_seeds(replace(seeds_of(torch.zeros(3, 2)), answers=torch.zeros(3))) is None


@pytest.mark.parametrize(
    ("text", "amount"),
    [("0.5", Amount(0.5, "")), ("10%", Amount(0.1, "%")), ("3 x", Amount(3, "x")), ("1e-3", Amount(1e-3, ""))],
)
def test_an_amount_is_read_with_its_unit(text: str, amount: Amount) -> None:
    assert Amount.parsed(text) == amount


@pytest.mark.parametrize("text", ["", "-1", "x", "3xx", "nan", "1e999", "10 %%"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no amount"):
        Amount.parsed(text)
