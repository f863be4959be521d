"""What a detector finds moves with its image, and else stays as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from jostle.inputs.geometry import Placements, unmoved
from jostle.oracles.box_matching import matched, overlaps
from jostle.oracles.boxes import BOXES, SCORES, BoxesKept
from jostle.records import NO_BUG, NO_LABEL, Candidates, Trace, Verdicts
from making import answered, batch_of, seeds_of, trace_of

LABELS = "output.labels"
RIGHT = torch.tensor([[[1.0, 0.0, -0.5], [0.0, 1.0, 0.0]]])  # by a quarter of the width
A, B = (2.0, 2.0, 8.0, 8.0), (12.0, 10.0, 18.0, 16.0)
Box = tuple[tuple[float, ...], float, int]  # with its score and class


def arrays(*boxes: Box) -> dict[str, Tensor]:
    """What a detector returns for one image of 20 by 20 pixels, filled up to three boxes."""
    filled = [*boxes, *[((0.0,) * 4, 0.0, 0)] * (3 - len(boxes))]
    return {
        BOXES: torch.tensor([[box for box, _, _ in filled]]),
        SCORES: torch.tensor([[score for _, score, _ in filled]]),
        LABELS: torch.tensor([[float(label) for _, _, label in filled]]),
    }


def seed_with(*boxes: Box, placement: Tensor | None = None, labels: Tensor | None = None) -> Candidates:
    said = arrays(*boxes)
    batch = answered(batch_of(torch.zeros(1, 1, 20, 20)), said.pop(BOXES), said, labels)
    return replace(batch, lineage=Placements(unmoved(1) if placement is None else placement))


def seen(*boxes: Box) -> Trace:
    said = arrays(*boxes)
    return trace_of(said.pop(BOXES), others=said)


def judged(batch: Candidates, trace: Trace, confidence: float = 0.5) -> Verdicts:
    return BoxesKept(0.5, confidence).judge(batch, trace)


def told(batch: Candidates, trace: Trace) -> str | None:
    verdicts = judged(batch, trace)
    return None if verdicts.bugs[0] == NO_BUG else verdicts.describe(0).fingerprint


def test_the_same_boxes_in_another_order_and_a_little_off_are_kept() -> None:
    nearly = ((3.0, 2.0, 8.0, 8.0), 0.6, 1)
    assert told(seed_with((A, 0.9, 1), (B, 0.8, 2)), seen((B, 0.7, 2), nearly)) is None


def test_boxes_vanish_appear_and_change_class() -> None:
    both = seed_with((A, 0.9, 1), (B, 0.8, 2))
    assert told(both, seen((A, 0.9, 1))) == "boxes:0:vanished:2"
    assert told(both, seen((A, 0.9, 1), (B, 0.9, 7))) == "boxes:0:changed:2"
    assert told(seed_with((A, 0.9, 1)), seen((A, 0.9, 1), (B, 0.9, 3))) == "boxes:0:appeared:3"
    assert judged(both, seen((A, 0.9, 1), (B, 0.9, 7))).describe(0).summary == "a box of class 2 became one of class 7"
    assert judged(both, seen((A, 0.9, 1))).describe(0).details["box"] == pytest.approx(list(B))


def test_a_box_that_is_fainter_than_before_is_still_there() -> None:
    assert told(seed_with((A, 0.9, 1)), seen((A, 0.3, 1))) is None
    assert told(seed_with((A, 0.9, 1)), seen((A, 0.2, 1))) == "boxes:0:vanished:1"
    assert told(seed_with((A, 0.3, 1)), seen((A, 0.9, 1))) is None
    assert told(seed_with((A, 0.4, 1)), seen()) is None


def test_a_second_box_around_one_thing_appeared() -> None:
    assert told(seed_with((A, 0.9, 1)), seen((A, 0.9, 1), (A, 0.8, 1))) == "boxes:0:appeared:1"
    assert told(seed_with((A, 0.9, 1)), seen((A, 0.3, 1), ((2.0, 2.0, 8.0, 7.0), 0.9, 1))) is None


def test_boxes_move_with_their_image() -> None:
    batch = seed_with((A, 0.9, 1), placement=RIGHT)
    there = ((7.0, 2.0, 13.0, 8.0), 0.9, 1)
    assert told(batch, seen(there)) is None
    assert told(batch, seen((A, 0.9, 1))) == "boxes:0:vanished:1"


def test_a_box_that_left_the_image_may_be_found_or_not() -> None:
    batch = seed_with((B, 0.9, 2), placement=torch.tensor([[[1.0, 0.0, -0.6], [0.0, 1.0, 0.0]]]))  # to 18..24
    assert told(batch, seen()) is None
    assert told(batch, seen(((18.0, 10.0, 20.0, 16.0), 0.9, 2))) is None
    assert told(batch, seen(((18.5, 10.0, 20.0, 12.0), 0.9, 2))) is None


def test_a_box_of_what_came_in_from_beyond_the_edge_did_not_appear() -> None:
    batch = seed_with((A, 0.9, 1), placement=RIGHT)
    there, mirrored = ((7.0, 2.0, 13.0, 8.0), 0.9, 1), ((0.0, 2.0, 4.0, 8.0), 0.9, 1)
    assert told(batch, seen(there, mirrored)) is None
    assert told(seed_with((A, 0.9, 1)), seen((A, 0.9, 1), ((14.0, 2.0, 18.0, 8.0), 0.9, 1))) == "boxes:0:appeared:1"


def test_of_a_turned_box_the_enclosing_one_is_expected() -> None:
    quarter = torch.tensor([[[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]])
    wide = ((5.0, 8.0, 15.0, 12.0), 0.9, 1)
    assert told(seed_with(wide, placement=quarter), seen(((8.0, 5.0, 12.0, 15.0), 0.9, 1))) is None


def test_labels_stand_above_what_the_model_said() -> None:
    truth = torch.tensor([[[2.0, *B], [0.0] * 5]])
    assert told(seed_with((A, 0.9, 1), labels=truth), seen((B, 0.9, 2))) is None
    assert told(seed_with((A, 0.9, 1), labels=truth), seen((A, 0.9, 1))) == "boxes:0:vanished:2"
    assert told(seed_with((A, 0.9, 1), labels=torch.full((1, 2, 5), float(NO_LABEL))), seen((A, 0.9, 1))) is None


def test_what_is_not_finite_is_not_judged() -> None:
    assert told(seed_with((A, 0.9, 1)), seen((A, torch.nan, 1))) is None
    assert told(seed_with((A, torch.inf, 1)), seen((B, 0.9, 1))) is None


@pytest.mark.parametrize("answer", [BOXES, SCORES, LABELS])
def test_whichever_output_carries_the_answer_boxes_are_found(answer: str) -> None:
    before, after = arrays((A, 0.9, 1)), arrays((A, 0.9, 4))
    batch = answered(batch_of(torch.zeros(1, 1, 20, 20)), before.pop(answer), before)
    trace = trace_of(after.pop(answer), others=after)
    assert judged(batch, trace).describe(0).fingerprint == "boxes:0:changed:1"


def test_boxes_are_compared_with_labels_where_there_are_any() -> None:
    said = {
        name: value.repeat(2, 1, 1) if name == BOXES else value.repeat(2, 1)
        for name, value in arrays((A, 0.9, 1)).items()
    }
    labels = torch.tensor([[[1.0, *A], [0.0] * 5], [[1.0, *A], [1.0, *B]]])
    seeds = replace(seeds_of(torch.zeros(2, 1, 20, 20), labels), answers=said.pop(BOXES), other_answers=said)
    on_seeds = BoxesKept().on_seeds(seeds)
    assert on_seeds is not None and on_seeds.wrong.tolist() == [False, True]
    assert on_seeds.figure == pytest.approx(2 / 3)
    assert BoxesKept().on_seeds(replace(seeds, labels=torch.full((2,), NO_LABEL))) is None


def test_the_best_pair_is_taken_first_and_nobody_twice() -> None:
    fits = torch.tensor([[[0.9, 0.8], [0.85, -1.0], [-1.0, -1.0]]])
    assert matched(fits).tolist() == [[0, -1, -1]]
    assert matched(torch.tensor([[[0.6, 0.5], [0.9, -1.0]]])).tolist() == [[1, 0]]


def test_overlaps_are_intersections_over_unions() -> None:
    some = torch.tensor([[[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0]]])
    others = torch.tensor([[[1.0, 0.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]]])
    torch.testing.assert_close(overlaps(some, others), torch.tensor([[[1 / 3, 0.0], [0.0, 0.0]]]))
