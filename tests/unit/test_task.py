"""What a model does is told from its outputs and labels, and its answers are read as labels."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from jostle.errors import PreflightFailed
from jostle.records import NO_LABEL
from jostle.task import LabelReading, Question, Task

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
    ],
)
def test_the_task_is_told_from_outputs_and_labels(
    outputs: Tensor, labels: Tensor, names: tuple[str, ...], task: Task
) -> None:
    assert question(outputs, labels, *names).task() is task


def test_labels_that_fit_no_task_are_refused_with_the_shapes_that_fit() -> None:
    told = r"labels of shape \[6, 4\].*outputs of shape \[6, 10\].*classes have outputs"
    with pytest.raises(PreflightFailed, match=told):
        question(torch.rand(6, 10), torch.rand(6, 4)).task()


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
