"""A model and its twin must agree."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.oracles.agreement import Agreement, ComparedTwin
from jostle.oracles.comparisons import Close, Comparison, SameTop, calibrated, comparison_named
from jostle.records import NO_BUG, Verdicts
from making import batch_of, trace_of

NAN, INF = torch.nan, torch.inf


def judged(comparison: Comparison, model: Tensor, twin: Tensor, crashed: tuple[int, ...] = ()) -> Verdicts:
    return Agreement(comparison).judge(batch_of(torch.zeros(len(model), 1)), trace_of(model, twin, crashed=crashed))


def disagreeing(comparison: Comparison, model: list[list[float]], twin: list[list[float]]) -> list[bool]:
    return (judged(comparison, torch.tensor(model), torch.tensor(twin)).bugs != NO_BUG).tolist()


def test_by_argmax_only_the_best_class_counts() -> None:
    model, twin = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[2.0, 1.0, 9.0], [1.0, 3.0, 2.9]]
    assert disagreeing(SameTop(), model, twin) == [False, True]


def test_by_top_k_the_best_classes_count_in_any_order() -> None:
    model, twin = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[1.0, 3.0, 2.0], [2.5, 2.0, 3.0]]
    assert disagreeing(SameTop(2), model, twin) == [False, True]


def test_more_best_classes_than_there_are_is_refused() -> None:
    with pytest.raises(UsageError, match="top4: the model has only 3 outputs"):
        judged(SameTop(4), torch.zeros(1, 3), torch.zeros(1, 3))


def test_a_tolerance_is_absolute_for_small_and_relative_for_large_values() -> None:
    model, twin = [[0.0], [0.0], [1000.0], [1000.0]], [[0.009], [0.02], [1009.0], [1020.0]]
    assert disagreeing(Close(0.01), model, twin) == [False, True, False, True]


def test_every_value_of_an_output_of_any_shape_is_compared() -> None:
    model = torch.zeros(2, 1, 3, 3)
    twin = model.clone()
    twin[1, 0, 2, 1] = 1
    verdicts = judged(Close(1e-3), model, twin)
    assert (verdicts.bugs != NO_BUG).tolist() == [False, True]
    assert verdicts.describe(1).details == {"output": 7, "model": 0.0, "twin": 1.0}


@pytest.mark.parametrize("comparison", [SameTop(), SameTop(2), Close(1e-3)])
def test_finite_in_one_twin_only_is_a_bug_of_its_own(comparison: Comparison) -> None:
    verdicts = judged(comparison, torch.tensor([[1.0, 2.0], [NAN, 2.0]]), torch.tensor([[1.0, INF], [0.0, 2.0]]))
    assert (verdicts.bugs != NO_BUG).all()
    assert {verdicts.describe(row).fingerprint for row in (0, 1)} == {"agree:finite"}


@pytest.mark.parametrize("comparison", [SameTop(), SameTop(2), Close(1e-3)])
def test_twins_that_fail_alike_agree(comparison: Comparison) -> None:
    both = torch.tensor([[NAN, 2.0], [INF, 2.0]])
    assert (judged(comparison, both, both.clone()).bugs == NO_BUG).all()


def test_outputs_of_different_shapes_are_one_bug_for_all_rows_that_ran() -> None:
    verdicts = judged(SameTop(), torch.zeros(3, 10), torch.zeros(3, 5), crashed=(1,))
    assert (verdicts.bugs != NO_BUG).tolist() == [True, False, True]
    assert verdicts.describe(0).summary == "the model's outputs have shape [10], those of twin [5]"


def test_a_violation_tells_what_each_twin_said() -> None:
    violation = judged(SameTop(), torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 2.0]])).describe(0)
    assert violation.summary == "model says 1, twin says 0 (margins 1 and 1, outputs differ by up to 2)"
    assert violation.details == {"model": [1.0, 2.0], "twin": [3.0, 2.0], "margins": [1.0, 1.0]}


def test_a_tie_is_no_disagreement() -> None:
    model = torch.tensor([[5.0, 5.00001], [5.0, 5.1], [5.0, 5.1]])
    twin = torch.tensor([[5.00001, 5.0], [5.1, 5.0], [5.1, 5.1]])
    assert (judged(SameTop(), model, twin).bugs != NO_BUG).tolist() == [False, True, False]
    assert (judged(SameTop(margin=0.0), model, twin).bugs != NO_BUG).tolist() == [True, True, False]
    assert (judged(SameTop(margin=0.3), model, twin).bugs != NO_BUG).tolist() == [False, False, False]


def test_a_twin_that_prefers_no_class_at_all_disagrees_with_a_model_that_does() -> None:
    model = torch.tensor([[0.0, 5.0, 1.0], [5.0, 5.00001, 0.0], [0.0, 5.0, 1.0]])
    twin = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [5.0, 5.0, 1.0]])
    assert (judged(SameTop(), model, twin).bugs != NO_BUG).tolist() == [True, False, False]


def test_findings_name_the_twin_of_several() -> None:
    outputs = {
        "model": torch.tensor([[1.0, 2.0]]),
        "int8": torch.tensor([[3.0, 2.0]]),
        "onnx": torch.tensor([[1.0, 2]]),
    }
    trace = replace(trace_of(outputs["model"]), outputs=outputs)
    by_twin = {name: Agreement(SameTop(), ComparedTwin(name, name)) for name in ("int8", "onnx")}
    said = {name: oracle.judge(batch_of(torch.zeros(1, 1)), trace) for name, oracle in by_twin.items()}
    assert [int(one.bugs[0]) != NO_BUG for one in said.values()] == [True, False]
    violation = said["int8"].describe(0)
    assert violation.kind == said["int8"].kind == "agree int8"
    assert violation.fingerprint == "agree int8:top1:0:1:0" and "int8 says 0" in violation.summary


def test_the_noise_floor_is_far_beyond_what_the_seeds_show() -> None:
    answers = torch.tensor([[0.0, 1.0], [torch.nan, 3.0]])
    assert calibrated(answers, answers) == pytest.approx(1e-5)
    assert calibrated(answers, answers + 0.02) == pytest.approx(5 * 0.02 / 1.02, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "comparison"), [("argmax", SameTop()), ("top5", SameTop(5)), ("1e-3", Close(1e-3)), ("0", Close(0.0))]
)
def test_a_comparison_is_named_as_the_user_types_it(name: str, comparison: Comparison) -> None:
    assert comparison_named(name) == comparison


@pytest.mark.parametrize("name", ["", "top", "top0", "topfive", "-1", "argmin", "nan"])
def test_an_unknown_comparison_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="give argmax, topK"):
        comparison_named(name)
