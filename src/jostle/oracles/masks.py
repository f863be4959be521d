"""A mask moves with its image, and else stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.geometry import place_masks
from jostle.inputs.several import check_image_among, image_placements, image_shape
from jostle.options.declaration import Theme, option
from jostle.options.kinds import choice, number
from jostle.options.schema import Settings
from jostle.oracles.answers import finite_rows
from jostle.part import ComparedWith, Part, PartContext, first_line
from jostle.records import MODEL, NO_LABEL, Candidates, OnSeeds, Seeds, Trace, Verdicts, Violation
from jostle.task import MOST_CLASSES

SPECK = 0.002  # of all pixels: a class that fills less, before and after, is not judged
CLASS_BITS = 32  # of a bug's number


class MaskForm(StrEnum):
    """What outputs say of each pixel."""

    SCORES = "scores"  # of every class [batch, classes, height, width]
    LOGITS = "logits"  # of one class, which is there above 0
    PROBABILITIES = "probabilities"  # of one class, which is there above a half
    CLASSES = "classes"  # the class itself, as a whole number

    @staticmethod
    def of(answers: Tensor) -> MaskForm:
        """The form of answers [seeds, classes, height, width], [seeds, 1, height, width] or [seeds, height, width]."""
        if answers.ndim == 4 and answers.shape[1] > 1:
            return MaskForm.SCORES
        values = answers[answers.isfinite()]
        if not len(values) or float(values.min()) < 0:
            return MaskForm.LOGITS
        if float(values.max()) <= 1:
            return MaskForm.PROBABILITIES
        return MaskForm.CLASSES if torch.equal(values, values.round()) else MaskForm.LOGITS

    def masks(self, outputs: Tensor) -> Tensor:
        """The class of each pixel [batch, height, width]."""
        if self is MaskForm.SCORES:
            return outputs.max(1).indices  # three times as fast as argmax
        single = outputs.squeeze(1) if outputs.ndim == 4 else outputs
        if self is MaskForm.CLASSES:
            return single.nan_to_num(0, 0, 0).round().long().clamp(0, MOST_CLASSES - 1)
        return (single > (0.5 if self is MaskForm.PROBABILITIES else 0)).long()

    @property
    def without_background(self) -> bool:
        """Whether only class 1 counts, because 0 is all that is not there."""
        return self in (MaskForm.LOGITS, MaskForm.PROBABILITIES)


@dataclass(frozen=True)
class OverlapOptions:
    """How well masks and boxes must fit those that they are compared with."""

    iou: float = option(
        number("give an overlap (intersection over union) above 0 and at most 1", above=0, at_most=1),
        "Least overlap (intersection over union) of masks and boxes with the seed's",
        Theme.DEFECTS,
        default=0.5,
    )


@dataclass(frozen=True)
class MaskOptions:
    """How masks are read from outputs."""

    mask_form: str | None = option(
        choice(lambda: MaskForm),
        "What outputs say of each pixel: scores, logits, probabilities, classes (told by the seeds)",
        Theme.DEFECTS,
    )


class MaskKept:
    """The mask overlaps the seed's, moved as the image was; one bug per seed and class that fits worst."""

    looks_inside = False
    compares_with_truth = True  # labels, where there are any

    def __init__(self, form: MaskForm = MaskForm.SCORES, iou: float = OverlapOptions.iou):
        """What the seed's mask is: its label where that is known, else what the model said of it."""
        self._form, self._bound = form, iou

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        outputs, answers = trace.outputs[MODEL], candidates.answers
        references = _moved(self._references(candidates.labels, answers), candidates)
        fit = self._fit(self._form.masks(outputs), references)
        finite = finite_rows(outputs, answers)
        bugs = (candidates.roots << CLASS_BITS) + fit.worst

        def describe(row: int) -> Violation:
            overlap, worst = float(fit.mean[row]), int(fit.worst[row])
            return Violation(
                "masks",
                f"masks:{int(candidates.roots[row])}:{worst}",
                f"the mask overlaps its seed's by {overlap:.3f}, below {self._bound:g}; class {worst} is the worst",
                {"IoU": overlap, "worst class": worst, "of the worst class": float(fit.least[row])},
            )

        return Verdicts.where("masks", trace, (fit.mean < self._bound) & finite, bugs, describe)

    def on_seeds(self, seeds: Seeds) -> OnSeeds | None:
        """Which masks overlap their labels too little; None where no label is known."""
        assert seeds.answers is not None, "known once seeds are cleared"
        if seeds.labels.ndim != 3 or not (seeds.labels != NO_LABEL).any():
            return None
        fit = self._fit(self._form.masks(seeds.answers), seeds.labels)
        known = (seeds.labels != NO_LABEL).flatten(1).any(1) & finite_rows(seeds.answers)
        return OnSeeds((fit.mean < self._bound) & known, "mean IoU", float(fit.mean[known].mean()))

    def _references(self, labels: Tensor, answers: Tensor) -> Tensor:
        """The seeds' masks [batch, height, width]."""
        said = self._form.masks(answers)
        if labels.shape != said.shape:
            return said
        known = (labels != NO_LABEL).flatten(1).any(1)
        return torch.where(known[:, None, None], labels, said)

    def _fit(self, masks: Tensor, references: Tensor) -> Fit:
        return fit_of(masks, references, first=1 if self._form.without_background else 0)


@dataclass(frozen=True)
class Fit:
    """How well masks fit references, by intersection over union."""

    mean: Tensor  # [batch] over the classes that are there, 1 where none is
    worst: Tensor  # [batch] the class that fits worst
    least: Tensor  # [batch] how well that fits


def fit_of(masks: Tensor, references: Tensor, first: int = 0) -> Fit:
    """Of masks [batch, height, width], from this class on; pixels whose reference is NO_LABEL do not count."""
    known = references != NO_LABEL
    classes = int(torch.maximum(masks.amax(), references.amax())) + 1 if masks.numel() else 1
    alike = _areas(masks, known & (masks == references), classes)
    union = _areas(masks, known, classes) + _areas(references, known, classes) - alike
    there = union > SPECK * known.flatten(1).sum(1, keepdim=True)
    there[:, :first] = False
    overlap = alike / union.clamp(min=1)  # [batch, classes]
    mean = torch.where(there, overlap, 0).sum(1) / there.sum(1).clamp(min=1)
    least, worst = torch.where(there, overlap, 2).min(1)
    return Fit(torch.where(there.any(1), mean, 1), worst, least)


def _areas(masks: Tensor, counted: Tensor, classes: int) -> Tensor:
    """[batch, classes] how many of the pixels that are counted each class has."""
    cells = masks + classes * torch.arange(len(masks))[:, None, None]
    uncounted = len(masks) * classes
    areas = torch.bincount(cells.where(counted, uncounted).flatten(), minlength=uncounted + 1)
    return areas[:-1].view(len(masks), classes)


def _moved(masks: Tensor, candidates: Candidates) -> Tensor:
    """The seeds' masks, moved as the images were."""
    rows = candidates.moved.nonzero().squeeze(1)
    if not len(rows):
        return masks
    placements = image_placements(candidates.lineage)[rows]
    return masks.index_copy(0, rows, place_masks(masks[rows], placements, NO_LABEL))


def _masks(settings: Settings, context: PartContext) -> MaskKept:
    check_image_among("masks", context.seeds)
    shape = context.answer_shape
    if len(shape) not in (2, 3) or len(image_shape(context.seeds)) < 2:
        raise context.unfit("masks", "masks [batch, classes, height, width] or [batch, height, width] of images")
    labels, size = context.seeds.labels, shape[-2:]
    if labels.ndim > 1 and tuple(labels.shape[1:]) != size:
        raise UsageError(
            f"labels of shape {list(labels.shape[1:])} are no masks of the model's {list(size)} pixels: give one class "
            f"for each pixel, [seeds, height, width]"
        )
    form = settings[MaskOptions].mask_form
    assert form is not None, "settled by the seeds"
    return MaskKept(MaskForm(form), settings[OverlapOptions].iou)


def _settled(settings: Settings, seeds: Seeds) -> Settings:
    assert seeds.answers is not None, "known once seeds are cleared"
    return settings.over(MaskOptions(settings[MaskOptions].mask_form or MaskForm.of(seeds.answers).value))


MASKS = Part(first_line(MaskKept), _masks, (OverlapOptions, MaskOptions), _settled, compares=ComparedWith.SEED)
