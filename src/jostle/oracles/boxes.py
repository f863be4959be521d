"""What a detector finds moves with its image, and else stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.inputs.geometry import come_in, place_boxes
from jostle.inputs.several import check_image_among, image_placements, image_shape
from jostle.options.declaration import Theme, option
from jostle.options.kinds import choice, number
from jostle.options.schema import Settings
from jostle.oracles.answers import finite_rows
from jostle.oracles.box_matching import Detections, Pairs, areas, inside
from jostle.oracles.masks import OverlapOptions
from jostle.part import ComparedWith, Part, PartContext, first_line
from jostle.records import MODEL, NO_LABEL, Candidates, OnSeeds, Seeds, Trace, Verdicts, Violation

CHANGED, VANISHED, APPEARED = EVENTS = ("changed", "vanished", "appeared")
CLASS_BITS = 32  # of a bug's number
FAINT = 0.5  # of the least confidence: from there on a box is there, though not surely
MOSTLY = 0.5  # of its area: a box that the image shows less of may be found or not
BOXES, SCORES, CLASSES = "output.boxes", "output.scores", ("output.labels", "output.classes")
PIXELS, SHARES = UNITS = ("pixels", "shares")
WITHIN_SHARES = 1.5  # boxes that reach no farther are given in shares of the sides, not in pixels


@dataclass(frozen=True)
class BoxOptions:
    """When a box counts."""

    confidence: float = option(
        number("give a score above 0 and at most 1", above=0, at_most=1),
        "Least score of a box that must be found again",
        Theme.DEFECTS,
        default=0.5,
    )
    box_unit: str | None = option(
        choice(lambda: UNITS), "Boxes are in pixels, or in shares of the sides (told by the seeds)", Theme.DEFECTS
    )


class BoxesKept:
    """The seed's boxes are found where its image moved them, and no others; one bug per seed, event and class."""

    looks_inside = False
    compares_with_truth = True  # labels, where there are any

    def __init__(
        self, iou: float = OverlapOptions.iou, confidence: float = BoxOptions.confidence, in_pixels: bool = True
    ):
        """The seed's boxes are its label where that is known, else what the model found; in pixels or from 0 to 1."""
        self._bound, self._confidence, self._in_pixels = iou, confidence, in_pixels

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        found, finite = detections(trace.outputs[MODEL], trace.others)
        of_seeds, seeds_finite = detections(candidates.answers, candidates.other_answers)
        sides = self._sides(candidates.seeds)
        events = self._events(candidates, _expected(candidates.labels, of_seeds), found, sides)
        bugs = ((candidates.roots * len(EVENTS) + events.kind.clamp(min=0)) << CLASS_BITS) + events.classes

        def describe(row: int) -> Violation:
            event, label = EVENTS[events.kind[row]], int(events.classes[row])
            what = f"became one of class {int(events.became[row])}" if event == CHANGED else event
            return Violation(
                "boxes",
                f"boxes:{int(candidates.roots[row])}:{event}:{label}",
                f"a box of class {label} {what}",
                {"event": event, "class": label, "box": (events.boxes[row] * sides).tolist()},
            )

        return Verdicts.where("boxes", trace, (events.kind >= 0) & finite & seeds_finite, bugs, describe)

    def on_seeds(self, seeds: Seeds) -> OnSeeds | None:
        """Where other boxes are found than labels tell of; None where no label is known."""
        assert seeds.answers is not None, "known once seeds are cleared"
        found, finite = detections(seeds.answers, seeds.other_answers)
        judged = known_boxes(seeds.labels) & finite
        if not judged.any():
            return None
        expected = _expected(seeds.labels, found)
        events = self._events(seeds.as_candidates(), expected, found, self._sides(seeds))
        share = events.refound[judged].sum() / events.asked[judged].sum().clamp(min=1)
        return OnSeeds((events.kind >= 0) & judged, "share of boxes found", float(share))

    def _sides(self, seeds: Seeds) -> Tensor:
        """[4] what boxes are divided by to reach from 0 to 1."""
        height, width = image_shape(seeds)[-2:] if self._in_pixels else (1, 1)
        return torch.tensor([width, height, width, height], dtype=torch.float32)

    def _events(self, candidates: Candidates, expected: Detections, found: Detections, sides: Tensor) -> Events:
        faint = FAINT * self._confidence
        due, seen = (_divided(some, sides).from_score(faint) for some in (expected, found))
        due, certain = placed(due, candidates)
        doubtful = inside(seen.boxes, due.boxes, ~certain & (due.scores > 0)) | _come_in(seen, candidates)
        return events_of(Pairs.of(due, certain, seen, self._bound, self._confidence), doubtful)


@dataclass(frozen=True)
class Events:
    """The first thing that is wrong with the boxes of each image."""

    kind: Tensor  # [batch] a position in EVENTS, -1 where nothing is wrong
    classes: Tensor  # [batch] of the box that it is about
    boxes: Tensor  # [batch, 4]
    became: Tensor  # [batch] what that box is taken for
    asked: Tensor  # [batch] how many boxes had to be found
    refound: Tensor  # [batch] how many of them were


def events_of(pairs: Pairs, doubtful: Tensor) -> Events:
    """What is wrong with boxes that were due or seen; doubtful ones [batch, seen] may be seen or not."""
    due, seen = pairs.due, pairs.seen
    changed, vanished, appeared = pairs.changed, pairs.vanished, pairs.alone & ~doubtful
    happened = torch.stack([changed.any(1), vanished.any(1), appeared.any(1)], 1)  # [batch, events]
    kind = torch.where(happened.any(1), happened.int().argmax(1), -1)
    first = torch.where(kind == 0, changed.int().argmax(1), vanished.int().argmax(1))[:, None]
    new, is_new = appeared.int().argmax(1)[:, None], kind == EVENTS.index(APPEARED)
    return Events(
        kind,
        torch.where(is_new, seen.classes.gather(1, new).squeeze(1), due.classes.gather(1, first).squeeze(1)),
        torch.where(is_new[:, None], _box(seen.boxes, new), _box(due.boxes, first)),
        pairs.taken_for.gather(1, first).squeeze(1),
        pairs.sure.sum(1),
        (pairs.sure & pairs.paired).sum(1),
    )


def _box(boxes: Tensor, position: Tensor) -> Tensor:
    """[batch, 4] of boxes [batch, boxes, 4], the one at each position [batch, 1]."""
    return boxes.gather(1, position[:, :, None].expand(-1, -1, 4)).squeeze(1)


def detections(answer: Tensor, others: Mapping[str, Tensor]) -> tuple[Detections, Tensor]:
    """What a detector returned by names, of which one carries the answer, and which rows are finite [batch]."""
    boxes, scores = others.get(BOXES, answer), others.get(SCORES, answer)
    told = next((others[name] for name in CLASSES if name in others), None)
    if told is None:
        told = answer if BOXES in others and answer.shape == scores.shape and SCORES in others else scores * 0
    parts = [boxes.float(), scores.float(), told.float()]
    classes = parts[2].nan_to_num(0, 0, 0).round().clamp(0, 2**31 - 128).long()
    return Detections(parts[0].nan_to_num(0, 0, 0), parts[1].nan_to_num(0, 0, 0), classes), finite_rows(*parts)


def known_boxes(labels: Tensor) -> Tensor:
    """[batch] bool: which labels are boxes [boxes, 5], and not NO_LABEL everywhere."""
    if labels.ndim != 3:
        return torch.zeros(len(labels), dtype=torch.bool)
    return (labels != NO_LABEL).flatten(1).any(1)


def _expected(labels: Tensor, found: Detections) -> Detections:
    """The boxes of labels where they are known, else those that were found."""
    known = known_boxes(labels)
    if not known.any():
        return found
    classes, boxes = labels[..., 0].long().clamp(min=0), labels[..., 1:].float()
    return Detections.where(known, Detections(boxes, torch.ones(labels.shape[:2]), classes), found)


def _divided(found: Detections, sides: Tensor) -> Detections:
    return replace(found, boxes=found.boxes / sides)


def placed(expected: Detections, candidates: Candidates) -> tuple[Detections, Tensor]:
    """Boxes from 0 to 1, moved as images were and cut at their edges; which are mostly in the image [batch, boxes]."""
    boxes, rows = expected.boxes, candidates.moved.nonzero().squeeze(1)
    if len(rows):
        boxes = boxes.index_copy(0, rows, place_boxes(boxes[rows], image_placements(candidates.lineage)[rows]))
    cut = boxes.clamp(0, 1)
    return replace(expected, boxes=cut), areas(cut) >= MOSTLY * areas(boxes)


def _come_in(seen: Detections, candidates: Candidates) -> Tensor:
    """[batch, boxes] bool: which boxes are of what came in from beyond the edge, and were not in the seed."""
    if not candidates.moved.any():
        return torch.zeros_like(seen.scores, dtype=torch.bool)
    return come_in(seen.boxes, image_placements(candidates.lineage))


def _boxes(settings: Settings, context: PartContext) -> BoxesKept:
    seeds = context.seeds
    check_image_among("boxes", seeds)
    assert seeds.answers is not None, "known once seeds are cleared"
    boxes, scores = seeds.other_answers.get(BOXES, seeds.answers), seeds.other_answers.get(SCORES, seeds.answers)
    if len(image_shape(seeds)) != 3 or boxes.ndim != 3 or boxes.shape[2] != 4 or scores.shape != boxes.shape[:2]:
        raise UsageError(
            "--oracle boxes needs a model of images that returns boxes [batch, boxes, 4] and scores [batch, boxes] by "
            "these names, and labels [batch, boxes] if it tells classes: return them so, or leave boxes out"
        )
    options = settings[BoxOptions]
    return BoxesKept(settings[OverlapOptions].iou, options.confidence, options.box_unit == PIXELS)


def _settled(settings: Settings, seeds: Seeds) -> Settings:
    assert seeds.answers is not None, "known once seeds are cleared"
    boxes = seeds.other_answers.get(BOXES, seeds.answers)
    unit = PIXELS if bool((boxes[boxes.isfinite()] > WITHIN_SHARES).any()) else SHARES
    options = settings[BoxOptions]
    return settings.over(replace(options, box_unit=options.box_unit or unit))


BOXES_KEPT = Part(first_line(BoxesKept), _boxes, (OverlapOptions, BoxOptions), _settled, compares=ComparedWith.SEED)
