"""What a model does is told from its outputs and labels, and its answers are read as labels."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from jostle.errors import PreflightFailed
from jostle.records import NO_LABEL
from jostle.task import LabelReading, Question, Task, known_masks

UNLABELLED = torch.full((6,), NO_LABEL)
DIRECTIONS = torch.nn.functional.normalize(torch.randn(6, 8, generator=torch.Generator().manual_seed(0)))


def question(outputs: Tensor, labels: Tensor = UNLABELLED, *names: str) -> Question:
    return Question(outputs, names, labels)


@pytest.mark.parametrize(
    ("outputs", "labels", "names", "task"),
    [
        (torch.rand(6, 10), UNLABELLED, (), Task.CLASSES),
        (torch.rand(6, 10), torch.arange(6), (), Task.CLASSES),
        (torch.rand(6, 10), torch.arange(6).float(), (), Task.CLASSES),
        (DIRECTIONS, UNLABELLED, (), Task.EMBEDDING),
        (torch.rand(6), UNLABELLED, (), Task.UNKNOWN),
        (torch.rand(6, 1, 8, 8), torch.arange(6), (), Task.UNKNOWN),
        (torch.rand(6, 1), torch.tensor([0, 1, 0, 1, NO_LABEL, 0]), (), Task.BINARY),
        (torch.rand(6, 1), torch.arange(6), (), Task.REGRESSION),
        (torch.rand(6), torch.rand(6), (), Task.REGRESSION),
        (torch.rand(6, 3), torch.rand(6, 3), (), Task.REGRESSION),
        (torch.rand(6, 3), torch.ones(6, 3).long(), (), Task.MULTILABEL),
        (torch.rand(6, 4, 8, 8), torch.zeros(6, 8, 8).long(), (), Task.SEGMENTATION),
        (torch.rand(6, 8, 8), torch.zeros(6, 8, 8).long(), (), Task.SEGMENTATION),
        (torch.rand(6, 5, 4), UNLABELLED, ("boxes", "scores"), Task.DETECTION),
        (torch.rand(6, 5, 4), torch.rand(6, 2, 5), ("boxes", "scores"), Task.DETECTION),
        (torch.rand(6, 7, 30), torch.full((6, 7), 9), (), Task.SEQUENCE),
        (torch.full((6, 7), 9.0), torch.full((6, 7), 9), (), Task.SEQUENCE),
        (torch.rand(6, 7), torch.full((6, 7), 9), (), Task.REGRESSION),
        (torch.full((6, 7), 9.0), torch.full((6, 7), 9.0), (), Task.REGRESSION),
        (torch.full((6, 7), 9.0), torch.ones(6, 7).long(), (), Task.MULTILABEL),
        (torch.rand(6, 1), torch.tensor([0.0, 1, 0, 1, NO_LABEL, 0]), (), Task.BINARY),
        (torch.rand(6), torch.tensor([0.0, 1, 0, 1, 0.5, 0]), (), Task.REGRESSION),
        (torch.rand(6), torch.tensor([0.0, 1, 0, 1, -3, 0]), (), Task.REGRESSION),
    ],
)
def test_the_task_is_told_from_outputs_and_labels(
    outputs: Tensor, labels: Tensor, names: tuple[str, ...], task: Task
) -> None:
    assert question(outputs, labels, *names).task() is task


def test_labels_with_one_yes_in_every_row_are_classes_unless_the_user_says_otherwise() -> None:
    one_hot = question(torch.rand(30, 5), torch.eye(5).repeat(6, 1))
    with pytest.raises(
        PreflightFailed, match=r"say yes once in every row: give classes, labels.argmax\(1\), or --task"
    ):
        one_hot.task()
    one_hot.check(Task.MULTILABEL)
    assert (
        question(torch.rand(31, 5), torch.cat([torch.eye(5).repeat(6, 1), torch.ones(1, 5)])).task() is Task.MULTILABEL
    )


def test_labels_that_fit_no_task_are_refused_with_the_shapes_that_fit() -> None:
    told = r"labels of shape \[6, 4\].*outputs of shape \[6, 10\].*classes have outputs"
    with pytest.raises(PreflightFailed, match=told):
        question(torch.rand(6, 10), torch.rand(6, 4)).task()


def test_classes_below_zero_are_refused_as_fractions_too() -> None:
    with pytest.raises(PreflightFailed, match="whole numbers from 0"):
        question(torch.rand(6, 10), torch.tensor([0.0, 1, 2, 3, 4, -3])).task()


def test_tokens_may_be_named_predictions() -> None:
    question(torch.full((6, 7), 9.0), torch.full((6, 7), 9)).check(Task.REGRESSION)


@pytest.mark.parametrize("label", [-2, 2**12, 2**40])
def test_masks_of_strange_labels_are_refused(label: int) -> None:
    with pytest.raises(PreflightFailed, match=f"masks have label {label}: number the classes from 0"):
        known_masks(torch.full((6, 4, 4), label), torch.rand(6, 3, 4, 4))


@pytest.mark.parametrize(
    ("outputs", "ignored"),
    [
        (torch.rand(6, 3, 4, 4), True),
        (torch.rand(6, 300, 4, 4), False),
        (torch.randn(6, 1, 4, 4) * 900, True),
        (torch.full((6, 4, 4), 254.0), True),
        (torch.full((6, 4, 4), 255.0), False),
    ],
)
def test_255_is_to_be_ignored_where_the_model_has_no_such_class(outputs: Tensor, ignored: bool) -> None:
    labels = torch.tensor([1, 255, NO_LABEL, 0]).expand(6, 4, 4)
    assert known_masks(labels, outputs)[0, 0].tolist() == [1, NO_LABEL if ignored else 255, NO_LABEL, 0]


def test_a_task_that_labels_do_not_fit_is_refused() -> None:
    with pytest.raises(PreflightFailed, match="--task segmentation has outputs"):
        question(torch.rand(6, 10), torch.arange(6)).check(Task.SEGMENTATION)


def test_a_task_can_be_named_where_there_are_no_labels() -> None:
    question(torch.rand(6, 10)).check(Task.EMBEDDING)


def test_a_single_score_says_yes_above_zero_and_a_single_probability_above_one_half() -> None:
    scores, probabilities = torch.tensor([-1.0, 0.3, 2.0]), torch.tensor([[0.1], [0.3], [0.9]])
    assert LabelReading.of(Task.BINARY, scores).labels(scores).tolist() == [0, 1, 1]
    assert LabelReading.of(Task.BINARY, probabilities).labels(probabilities).tolist() == [0, 0, 1]


def test_several_labels_are_those_whose_score_says_yes() -> None:
    scores = torch.tensor([[-1.0, 2.0], [3.0, 4.0]])
    assert LabelReading.of(Task.MULTILABEL, scores).labels(scores).tolist() == [[0, 1], [1, 1]]


def test_labels_that_are_not_given_are_what_the_model_says() -> None:
    scores = torch.tensor([[0.1, 0.9], [0.8, 0.2]])
    reading = LabelReading(Task.CLASSES)
    assert reading.completed(torch.tensor([NO_LABEL, 1]), scores).tolist() == [1, 1]


def test_wrong_are_labelled_inputs_that_the_model_answers_otherwise_and_in_numbers() -> None:
    scores = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.8, 0.2], [torch.nan, 0.0]])
    labels = torch.tensor([0, NO_LABEL, 0, 1])
    assert LabelReading(Task.CLASSES).wrong(labels, scores).tolist() == [True, False, False, False]
