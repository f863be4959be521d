"""A mask moves with its image, and else stays as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from jostle.inputs.geometry import Placements, place, unmoved
from jostle.oracles.masks import MaskForm, MaskKept, fit_of
from jostle.records import NO_BUG, NO_LABEL, Candidates
from making import answered, batch_of, seeds_of, trace_of

RIGHT = torch.tensor([[[1.0, 0.0, -0.5], [0.0, 1.0, 0.0]]])  # by a quarter of the width


def square(left: int = 2, top: int = 2, side: int = 8, size: int = 3) -> Tensor:
    """A mask [1, 8, 8] of one square."""
    mask = torch.zeros(1, side, side, dtype=torch.int64)
    mask[:, top : top + size, left : left + size] = 1
    return mask


def logits(mask: Tensor) -> Tensor:
    return (mask * 2 - 1).float()[:, None]


def moved_by(placement: Tensor, said: Tensor, labels: Tensor | None = None) -> Candidates:
    batch = answered(batch_of(torch.zeros(1, 1, 8, 8)), said, labels=labels)
    return replace(batch, lineage=Placements(placement))


def found(batch: Candidates, output: Tensor, form: MaskForm = MaskForm.LOGITS) -> bool:
    return bool(MaskKept(form).judge(batch, trace_of(output)).bugs[0] != NO_BUG)


def test_a_mask_that_moves_with_its_image_is_kept_and_one_that_stays_behind_is_not() -> None:
    batch = moved_by(RIGHT, logits(square()))
    assert not found(batch, logits(square(left=4)))
    assert found(batch, logits(square()))


def test_a_mask_that_stays_where_nothing_moved_is_kept() -> None:
    batch = moved_by(unmoved(1), logits(square()))
    assert not found(batch, logits(square()))
    assert found(batch, logits(square(left=5)))


def test_masks_move_as_images_do() -> None:
    turned = torch.tensor([[[0.8, 0.6, 0.1], [-0.6, 0.8, -0.1]]])
    image = square(3, 4, side=32, size=18).float()[:, None]
    batch = replace(moved_by(turned, image - 0.5), inputs=torch.zeros(1, 1, 32, 32))
    moved_image = place(image, turned)
    strict = MaskKept(MaskForm.LOGITS, iou=0.9)
    assert strict.judge(batch, trace_of(moved_image - 0.5)).bugs[0] == NO_BUG


def test_what_comes_in_from_outside_is_not_judged() -> None:
    batch = moved_by(RIGHT, logits(square()))
    output = logits(square(left=4))
    output[..., :2] = 1.0  # the two columns that came in
    assert not found(batch, output)


def test_a_label_stands_above_what_the_model_said_and_an_unknown_one_does_not() -> None:
    said, truth = logits(square()), square(left=5)
    assert not found(moved_by(unmoved(1), said, truth), logits(truth))
    assert found(moved_by(unmoved(1), said, truth), said)
    assert not found(moved_by(unmoved(1), said, torch.full_like(truth, NO_LABEL)), said)


def test_a_bug_is_a_seed_and_the_class_that_fits_worst() -> None:
    said = torch.nn.functional.one_hot(square(size=4) * 2, 3).movedim(3, 1).float()
    output = torch.nn.functional.one_hot(square(left=0, top=0, size=2), 3).movedim(3, 1).float()
    verdicts = MaskKept(iou=0.9).judge(moved_by(unmoved(1), said), trace_of(output))
    assert verdicts.describe(0).fingerprint == "masks:0:1"
    assert verdicts.describe(0).details["of the worst class"] == 0.0
    assert "overlaps its seed's by 0." in verdicts.describe(0).summary


def test_the_fit_is_the_mean_over_classes_that_are_there() -> None:
    masks, references = torch.tensor([[[0, 0, 1, 1]]]), torch.tensor([[[0, 1, 1, NO_LABEL]]])
    fit = fit_of(masks, references)
    assert fit.mean.tolist() == pytest.approx([0.5]) and fit.worst.tolist() == [0]
    only_first = fit_of(torch.tensor([[[0, 0, 0, 2]]]), torch.tensor([[[0, 0, 0, 2]]]), first=1)
    assert only_first.mean.tolist() == [1.0]


def test_an_empty_mask_that_stays_empty_fits() -> None:
    nothing = torch.zeros(1, 4, 4, dtype=torch.int64)
    assert fit_of(nothing, nothing, first=1).mean.tolist() == [1.0]


def test_a_speck_in_a_large_image_is_no_defect() -> None:
    speck = torch.zeros(1, 64, 64, dtype=torch.int64)
    speck[0, 5, 5] = 1
    assert fit_of(speck, torch.zeros_like(speck), first=1).mean.tolist() == [1.0]


@pytest.mark.parametrize(
    ("answers", "form"),
    [
        (torch.randn(2, 3, 4, 4), MaskForm.SCORES),
        (torch.randn(2, 1, 4, 4), MaskForm.LOGITS),
        (torch.rand(2, 4, 4), MaskForm.PROBABILITIES),
        (torch.tensor([[[0.0, 3.0]], [[1.0, torch.nan]]]), MaskForm.CLASSES),
    ],
)
def test_the_form_of_masks_is_told_from_the_answers(answers: Tensor, form: MaskForm) -> None:
    assert MaskForm.of(answers) is form
    assert form.masks(answers).shape == (2, *answers.shape[-2:])


def test_masks_are_compared_with_labels_where_there_are_any() -> None:
    labels = torch.cat([square(), square(left=5), torch.full_like(square(), NO_LABEL)])
    seeds = replace(seeds_of(torch.zeros(3, 1, 8, 8), labels), answers=logits(square()).repeat(3, 1, 1, 1))
    on_seeds = MaskKept(MaskForm.LOGITS).on_seeds(seeds)
    assert on_seeds is not None and on_seeds.wrong.tolist() == [False, True, False]
    assert on_seeds.figure == 0.5
    assert MaskKept(MaskForm.LOGITS).on_seeds(replace(seeds, labels=torch.full((3,), NO_LABEL))) is None
