"""Any predicate of the user's, over a batch or over one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.oracles.properties import Element, Property
from jostle.records import NO_BUG, Verdicts
from making import answered, batch_of, trace_of

LOSS = torch.tensor([0.5, 0.5, 0.01, 0.5])
GRADIENT = torch.tensor([[1e-5, -1e-6], [1e-5, 0.3], [1e-6, 1e-6], [-1e-5, 0.0]])
STUCK = [True, False, False, True]


def judged(function: Callable[[Element], Any], crashed: tuple[int, ...] = ()) -> Verdicts:
    trace = trace_of(LOSS[:, None], metadata={"loss": LOSS, "loss.grad": GRADIENT}, crashed=crashed)
    return Property("stuck", function).judge(batch_of(torch.arange(8.0).view(4, 2)), trace)


def stuck_element(element: Element) -> bool:
    """TensorFuzz §5: a loss of a GAN that is large where the gradient is too small to learn from."""
    return bool(element.metadata["loss"] > 0.1 and element.metadata["loss.grad"].norm() < 0.0001)


def stuck_batch(batch: Element) -> Tensor:
    return (batch.metadata["loss"] > 0.1) & (batch.metadata["loss.grad"].norm(dim=1) < 0.0001)


@pytest.mark.parametrize("function", [stuck_element, stuck_batch])
def test_the_gan_predicate_holds_for_the_same_rows_per_batch_and_per_element(
    function: Callable[[Element], Any],
) -> None:
    assert (judged(function).bugs != NO_BUG).tolist() == STUCK


def test_numbers_and_lists_serve_as_answers() -> None:
    assert (judged(lambda batch: [1, 0, 0, 1]).bugs != NO_BUG).tolist() == STUCK
    assert (judged(lambda batch: stuck_batch(batch).numpy()).bugs != NO_BUG).tolist() == STUCK


@pytest.mark.parametrize(("function", "dimensions"), [(stuck_batch, [2]), (stuck_element, [1, 1, 1, 1])])
def test_after_the_first_batch_a_batched_function_is_asked_once_and_a_function_of_elements_once_for_each(
    function: Callable[[Element], Any], dimensions: list[int]
) -> None:
    calls: list[int] = []
    asked = Property("counting", lambda element: calls.append(element.input.ndim) or function(element))
    for _ in range(2):
        calls.clear()
        asked.judge(
            batch_of(torch.zeros(4, 2)), trace_of(LOSS[:, None], metadata={"loss": LOSS, "loss.grad": GRADIENT})
        )
    assert calls == dimensions


def test_a_function_of_elements_that_reduces_is_not_taken_for_a_batched_one() -> None:
    """Over a batch its maximum would run over all rows, and the shape would still fit."""

    def reducing(element: Element) -> Tensor:
        return (element.metadata["loss"] > 0.1) & (element.metadata["loss.grad"].abs().max() < 0.0001)

    assert (judged(reducing).bugs != NO_BUG).tolist() == STUCK


def test_an_element_holds_all_there_is_to_know_about_one_input() -> None:
    seen: list[Element] = []

    def note(element: Element) -> bool:
        seen.append(element)
        return bool(element.label == 3)

    batch = batch_of(torch.arange(4.0).view(2, 2), labels=torch.tensor([3, 4]), references=torch.ones(2, 2))
    trace = trace_of(torch.tensor([[5.0], [6.0]]), twin=torch.tensor([[7.0], [8.0]]), activations={"fc": torch.eye(2)})
    assert (Property("note", note).judge(batch, trace).bugs != NO_BUG).tolist() == [True, False]
    last = seen[-1]
    assert last.input.tolist() == [2.0, 3.0] and last.reference.tolist() == [1.0, 1.0] and int(last.label) == 4
    assert last.output.tolist() == [6.0] and last.outputs["twin"].tolist() == [8.0]
    assert last.activations["fc"].tolist() == [0.0, 1.0]


SAID, SAYS = torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([[0.1, 1.1], [2.0, 4.0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda e: (e.output - e.seed_output).abs().max() > 0.5,
        lambda e: (e.output - e.seed_output).abs().amax(-1) > 0.5,
        lambda e: (e.all_outputs["output.boxes"] != e.seed_outputs["output.boxes"]).any(-1),
        lambda e: (e.all_outputs["output"] - e.seed_outputs["output"]).sum(-1) > 0.5,
    ],
    ids=["per element", "per batch", "another output", "the answer by its name"],
)
def test_a_property_may_compare_with_what_the_model_said_of_the_seed(function: Callable[[Element], Any]) -> None:
    boxes = {"output.boxes": torch.tensor([[1.0], [1.0]])}, {"output.boxes": torch.tensor([[1.0], [7.0]])}
    batch, trace = answered(batch_of(torch.zeros(2, 2)), SAID, boxes[0]), trace_of(SAYS, others=boxes[1])
    assert (Property("turned", function).judge(batch, trace).bugs != NO_BUG).tolist() == [False, True]


def test_a_property_sees_its_own_roots_outputs() -> None:
    batch = answered(batch_of(torch.zeros(2, 2)), SAID).select(torch.tensor([1, 0, 1]))
    verdicts = Property("low", lambda e: e.seed_output[..., 0] < 1).judge(batch, trace_of(SAYS[[1, 0, 1]]))
    assert (verdicts.bugs != NO_BUG).tolist() == [False, True, False]


def test_a_violation_shows_the_metadata_of_its_row() -> None:
    violation = judged(stuck_batch).describe(3)
    assert (violation.kind, violation.fingerprint) == ("property", "property:stuck")
    assert violation.details["loss"] == 0.5
    assert violation.details["loss.grad"] == pytest.approx([-1e-5, 0.0])


def test_rows_that_crashed_violate_nothing() -> None:
    assert (judged(lambda batch: torch.ones(4), crashed=(1, 2)).bugs != NO_BUG).tolist() == [True, False, False, True]


def test_a_function_that_fails_on_batch_and_element_is_refused_with_its_error() -> None:
    def broken(element: Element) -> bool:
        return element.metadata["lass"] > 0

    with pytest.raises(UsageError, match=r"property stuck .*KeyError.*'lass'"):
        judged(broken)
