"""What a model is asked to do, told from its outputs and the seeds' labels, and how its answers are read as labels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from jostle.errors import PreflightFailed
from jostle.options.declaration import Theme, option
from jostle.options.kinds import choice
from jostle.records import NO_LABEL

BOX = 5  # numbers of a labelled box: class, left, top, right, bottom
MOST_FOUND = 128  # things found in one input, such as boxes: the surest ones
MOST_CLASSES = 2**12  # that whole numbers in a mask may tell apart
IGNORED = 255  # what masks in bytes often hold where the class of a pixel is unknown
UNIT = 1e-3  # how far from 1 the length of an embedding may be
PROBABLE = 0.5  # above which a probability says yes


class Task(StrEnum):
    """The kinds of questions that models answer."""

    CLASSES = "classes"
    BINARY = "binary"
    MULTILABEL = "multilabel"
    REGRESSION = "regression"
    SEGMENTATION = "segmentation"
    DETECTION = "detection"
    EMBEDDING = "embedding"
    SEQUENCE = "sequence"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class TaskOptions:
    """What the model is asked to do."""

    task: str | None = option(
        choice(lambda: [task for task in Task if task is not Task.UNKNOWN]),
        "What the model does, where outputs and labels do not tell: classes, regression, segmentation, …",
        Theme.DEFECTS,
    )

    @property
    def named(self) -> Task | None:
        """The task that the user names."""
        return None if self.task is None else Task(self.task)


OF_LABELS = (Task.CLASSES, Task.BINARY, Task.MULTILABEL)
ENOUGH = 10  # rows, before their likeness is no accident
# What outputs and labels of each task look like, n being the number of inputs.
FORMS = {
    Task.CLASSES: "outputs [n, classes] and whole numbers from 0 [n]",
    Task.BINARY: "outputs [n] or [n, 1] and 0 or 1 [n]",
    Task.MULTILABEL: "outputs [n, labels] and 0 or 1 [n, labels]",
    Task.REGRESSION: "outputs [n] or [n, k] and numbers of that shape",
    Task.SEGMENTATION: "outputs [n, classes, height, width] or [n, height, width] and masks [n, height, width]",
    Task.DETECTION: f"outputs named boxes and scores, and boxes [n, most, {BOX}] as class, left, top, right, bottom",
    Task.EMBEDDING: "outputs [n, k] and no labels",
    Task.SEQUENCE: "outputs [n, length] of whole numbers or [n, length, tokens], and whole numbers [n, length]",
}


@dataclass(frozen=True)
class Question:
    """What the outputs and labels of a model look like."""

    outputs: Tensor  # [seeds, ...] what it said of the seeds
    names: Collection[str]  # of all that it returns
    labels: Tensor  # [seeds, ...]

    @property
    def labelled(self) -> bool:
        return self.labels.ndim > 1 or self.labels.is_floating_point() or bool((self.labels != NO_LABEL).any())

    @property
    def _row(self) -> tuple[int, ...]:
        """The shape of the answer to one input; a single number has none."""
        row = tuple(self.outputs.shape[1:])
        return () if row == (1,) else row

    def task(self) -> Task:
        """The task that such outputs and labels belong to; refused if they fit none."""
        if not self.labelled:
            return self._told_by_outputs()
        task = self._told_by_labels()
        if task is Task.MULTILABEL and len(self.labels) >= ENOUGH and bool((self.labels.sum(1) == 1).all()):
            raise PreflightFailed(
                f"labels of shape {list(self.labels.shape)} say yes once in every row: give classes, labels.argmax(1), "
                f"or --task multilabel if a row may have several"
            )
        return task

    def _told_by_outputs(self) -> Task:
        if {"boxes", "scores"} <= set(self.names):
            return Task.DETECTION
        if len(self._row) != 1:
            return Task.UNKNOWN
        return Task.EMBEDDING if self._of_unit_length() else Task.CLASSES

    def _told_by_labels(self) -> Task:
        task = next((task for task in Task if task is not Task.UNKNOWN and self._tells(task)), None)
        if task is None and self.labels.ndim == 1 and not self.labels.is_floating_point():
            return Task.UNKNOWN  # data with classes also serves models that give none
        if task is None:
            forms = "; ".join(f"{task} have {form}" for task, form in FORMS.items() if task is not Task.EMBEDDING)
            raise PreflightFailed(
                f"labels of shape {list(self.labels.shape)} ({_kind(self.labels)}) fit no task of a model with outputs "
                f"of shape {list(self.outputs.shape)}: {forms}"
            )
        return task

    def _tells(self, task: Task) -> bool:
        """Whether outputs and labels fit the task; numbers that are all whole are tokens, not predictions."""
        tokens = task is Task.REGRESSION and self.fits(Task.SEQUENCE) and _all_whole(self.outputs)
        return self.fits(task) and not tokens

    def check(self, task: Task) -> None:
        """Refuses a task that outputs or labels do not fit."""
        if self.labelled and not self.fits(task):
            raise PreflightFailed(
                f"--task {task} has {FORMS[task]}, and here outputs have shape {list(self.outputs.shape)}, labels "
                f"{list(self.labels.shape)} ({_kind(self.labels)}): give another --task or other labels"
            )

    def fits(self, task: Task) -> bool:
        """Whether outputs and labels could be of this task."""
        labels, row = self.labels, self._row
        row_of_labels = () if tuple(labels.shape[1:]) == (1,) else tuple(labels.shape[1:])
        whole, yes_or_no = not labels.is_floating_point(), bool(((labels == 0) | (labels == 1)).all())
        classes = _all_whole(labels) and bool((labels >= NO_LABEL).all())
        match task:
            case Task.CLASSES:
                return classes and row_of_labels == () and len(row) == 1
            case Task.BINARY:
                return classes and bool((labels <= 1).all()) and row_of_labels == () and row == ()
            case Task.MULTILABEL:
                return yes_or_no and len(row) == 1 and row_of_labels == row
            case Task.REGRESSION:
                return row_of_labels == row and len(row) <= 1
            case Task.SEGMENTATION:
                return whole and len(row) in (2, 3) and row_of_labels == row[-2:]
            case Task.DETECTION:
                return len(row_of_labels) == 2 and row_of_labels[1] == BOX and "boxes" in self.names
            case Task.SEQUENCE:
                return whole and len(row) in (1, 2) and row_of_labels == row[:1]
            case _:
                return False

    def _of_unit_length(self) -> bool:
        """Whether outputs are directions, as embeddings are, and not scores."""
        finite = self.outputs[self.outputs.isfinite().all(1)]
        return bool(len(finite)) and bool((finite.norm(dim=1) - 1).abs().max() < UNIT) and bool((finite < 0).any())


def _all_whole(numbers: Tensor) -> bool:
    """Whether there are no fractions; what is not finite does not count."""
    return not numbers.is_floating_point() or bool((numbers == numbers.round())[numbers.isfinite()].all())


def _kind(labels: Tensor) -> str:
    return "fractions" if labels.is_floating_point() else "whole numbers"


@dataclass(frozen=True)
class LabelReading:
    """How answers are read as labels: the best class, or every score above the cut says yes."""

    task: Task
    cut: float = 0.0

    @staticmethod
    def of(task: Task, outputs: Tensor) -> LabelReading:
        """For a task whose outputs [seeds, ...] on the seeds tell whether they are probabilities."""
        finite = outputs[outputs.isfinite()]
        probable = bool(((finite >= 0) & (finite <= 1)).all())
        return LabelReading(task, PROBABLE if probable else 0.0)

    def labels(self, outputs: Tensor) -> Tensor:
        """Classes [batch], or 0 and 1 for every label [batch, labels]."""
        scores = outputs.flatten(1) if outputs.ndim > 1 else outputs[:, None]
        if self.task is Task.CLASSES:
            return scores.argmax(1)
        said = (scores > self.cut).long()
        return said if self.task is Task.MULTILABEL else said[:, 0]

    def completed(self, labels: Tensor, outputs: Tensor) -> Tensor:
        """The labels, where none is given what the model says."""
        said = self.labels(outputs)
        return torch.where(labels == NO_LABEL, said, labels.long()) if labels.shape == said.shape else said

    def wrong(self, labels: Tensor, outputs: Tensor) -> Tensor:
        """[seeds] bool: where the model says otherwise; outputs that are not finite say nothing."""
        said = self.labels(outputs)
        if labels.shape != said.shape:
            return torch.zeros(len(outputs), dtype=torch.bool)
        differ = ((said != labels) & (labels != NO_LABEL)).reshape(len(said), -1).any(1)
        return differ & outputs.reshape(len(outputs), -1).isfinite().all(1)


def known_masks(labels: Tensor, outputs: Tensor) -> Tensor:
    """Masks [seeds, height, width] with NO_LABEL where pixels are to be ignored; refused if they hold no classes."""
    if labels.ndim != 3:
        return labels
    least, most = int(labels.min()), int(labels.max())
    if least < NO_LABEL or most >= MOST_CLASSES:
        raise PreflightFailed(
            f"masks have label {least if least < NO_LABEL else most}: number the classes from 0 and below "
            f"{MOST_CLASSES}, and give {NO_LABEL} or {IGNORED} where a pixel is to be ignored"
        )
    return torch.where((labels == IGNORED) & (_classes_of_masks(outputs) <= IGNORED), NO_LABEL, labels)


def _classes_of_masks(outputs: Tensor) -> float:
    """How many classes outputs [seeds, classes, height, width] score, or outputs [seeds, height, width] name."""
    if outputs.ndim == 4 and outputs.shape[1] > 1:
        return outputs.shape[1]
    finite = outputs[outputs.isfinite()]
    return float(finite.max()) + 1 if len(finite) and _all_whole(outputs) else 2


NO_LABEL_READING = LabelReading(Task.UNKNOWN)
