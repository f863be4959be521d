"""TensorFuzz's novelty: activations far from all that were seen."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.feedback.nearest import FarFromSeen
from jostle.randomness import randomness
from jostle.records import Trace
from making import assessed, trace_of


def seen_in(rows: Tensor) -> Trace:
    return trace_of(torch.zeros(len(rows), 1), activations={"fc": rows})


def threshold_of(feedback: FarFromSeen) -> float:
    (figures,) = feedback.coverage().values()
    return figures["threshold"]


def test_the_threshold_separates_what_is_new_from_what_is_not() -> None:
    feedback = FarFromSeen(["fc"], threshold=1.0)
    assert (assessed(feedback, seen_in(torch.tensor([[0.0], [0.9], [1.1], [1.95], [2.2]]))) > 0).tolist() == [
        *[True, False, True, False, True]
    ]


def test_the_gain_is_the_distance_to_the_nearest_seen_before() -> None:
    feedback = FarFromSeen(["fc"], threshold=1.0)
    assessed(feedback, seen_in(torch.tensor([[0.0, 0.0]])))
    gain = assessed(feedback, seen_in(torch.tensor([[3.0, 4.0], [3.0, 4.1], [3.0, 6.0]])))
    assert gain.tolist() == pytest.approx([5.0, 0.0, 2.0])


def test_a_row_close_to_one_that_was_not_admitted_can_still_be_new() -> None:
    feedback = FarFromSeen(["fc"], threshold=1.0)
    assert (assessed(feedback, seen_in(torch.tensor([[0.0], [0.8], [1.6]]))) > 0).tolist() == [True, False, True]


def test_cosine_looks_at_direction_alone() -> None:
    feedback = FarFromSeen(["fc"], threshold=0.1, cosine=True)
    rows = torch.tensor([[1.0, 0.0], [50.0, 0.1], [1.0, 1.0], [-1.0, 0.0]])
    assert (assessed(feedback, seen_in(rows)) > 0).tolist() == [True, False, True, True]


def test_a_cosine_threshold_is_a_cosine_distance() -> None:
    angles = torch.tensor([0.0, 0.40, 0.46])  # 1 - cos is 0.079 and 0.104
    rows = torch.stack([angles.cos(), angles.sin()], 1)
    feedback = FarFromSeen(["fc"], threshold=0.1, cosine=True)
    assert (assessed(feedback, seen_in(rows)) > 0).tolist() == [True, False, True]


def test_by_magnitude_the_sum_of_a_layers_absolute_values_counts() -> None:
    feedback = FarFromSeen(["fc"], threshold=1.0, criterion="magnitude")
    rows = torch.tensor([[3.0, -4.0], [-7.0, 0.0], [0.0, 9.0]])
    assert (assessed(feedback, seen_in(rows)) > 0).tolist() == [True, False, True]
    assert list(feedback.coverage()) == ["magnitude"]


def test_without_layers_the_outputs_are_looked_at() -> None:
    feedback = FarFromSeen([], threshold=1.0)
    assert (assessed(feedback, trace_of(torch.tensor([[[0.0]], [[5.0]]]))) > 0).tolist() == [True, True]


@pytest.mark.parametrize("cosine", [False, True])
def test_a_calibrated_threshold_is_a_tenth_of_the_typical_distance_between_seeds(cosine: bool) -> None:
    rows = torch.randn(60, 4, generator=randomness(0, 0))
    unit = torch.nn.functional.normalize(rows)
    between = torch.cdist(rows, rows) if not cosine else 1 - unit @ unit.T
    above = between[torch.ones(60, 60).triu(1).bool()]
    feedback = FarFromSeen(["fc"], cosine=cosine)
    assessed(feedback, seen_in(rows))
    assert threshold_of(feedback) == pytest.approx(0.1 * float(above.median()), rel=1e-3)


def test_calibration_happens_once() -> None:
    feedback = FarFromSeen(["fc"])
    assessed(feedback, seen_in(torch.tensor([[0.0], [10.0]])))
    assessed(feedback, seen_in(torch.tensor([[0.0], [1000.0]])))
    assert threshold_of(feedback) == pytest.approx(1.0)


def test_calibration_ignores_equal_and_broken_seeds() -> None:
    feedback = FarFromSeen(["fc"])
    assessed(feedback, seen_in(torch.tensor([[0.0]] * 9 + [[10.0], [torch.nan], [torch.inf]])))
    assert threshold_of(feedback) == pytest.approx(1.0)


@pytest.mark.parametrize("rows", [torch.zeros(1, 3), torch.ones(5, 3)])
def test_seeds_that_do_not_differ_cannot_calibrate_and_the_fix_is_named(rows: Tensor) -> None:
    with pytest.raises(UsageError, match="add seeds or give --threshold"):
        assessed(FarFromSeen(["fc"]), seen_in(rows))
    assert assessed(FarFromSeen(["fc"], threshold=1.0), seen_in(rows))[0] > 0


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan")])
def test_a_threshold_that_is_no_distance_is_refused(threshold: float) -> None:
    with pytest.raises(UsageError, match="--threshold"):
        FarFromSeen(["fc"], threshold)


def test_a_batch_larger_than_what_is_compared_at_once_is_still_judged_in_order() -> None:
    rows = torch.arange(3000.0).div(2)[:, None]
    gain = assessed(FarFromSeen(["fc"], threshold=0.7), seen_in(rows))
    assert torch.equal(gain > 0, torch.arange(3000) % 2 == 0)
