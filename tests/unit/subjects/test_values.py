"""Every tensor that foreign code returns has a name."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.subjects.values import answer_among, first_tensor, named_tensors, one_row_each
from jostle.task import MOST_FOUND

ONE, TWO = torch.zeros(2, 3), torch.ones(2, 4)


@dataclass
class Answer:
    logits: Tensor
    note: str
    hidden: tuple[Tensor, ...]


Pair = namedtuple("Pair", "mean spread")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (ONE, [""]),
        ((ONE, TWO), ["0", "1"]),
        ([ONE, None, TWO], ["0", "2"]),
        ({"boxes": ONE, "scores": TWO, "note": "fine"}, ["boxes", "scores"]),
        (Answer(ONE, "fine", (TWO, TWO)), ["logits", "hidden.0", "hidden.1"]),
        (Pair(ONE, TWO), ["mean", "spread"]),
        ({"all": [ONE, {"deep": TWO}]}, ["all.0", "all.1.deep"]),
        (np.zeros((2, 3), np.float32), [""]),
        ("nothing", []),
    ],
)
def test_tensors_are_named_by_the_way_to_them(value: object, names: list[str]) -> None:
    assert list(named_tensors(value)) == names


def test_logits_carry_the_answer_wherever_they_stand() -> None:
    assert first_tensor({"loss": ONE, "logits": TWO}) is TWO


@pytest.mark.parametrize("wanted", ["1", "output.1"])
def test_the_output_that_is_wanted_carries_the_answer(wanted: str) -> None:
    assert answer_among(named_tensors((ONE, TWO)), wanted) == "1"


def test_an_output_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"--output 'boxs' is unknown: did you mean boxes\?"):
        answer_among(named_tensors({"boxes": ONE, "scores": TWO}), "boxs")


def test_an_output_is_not_to_be_named_where_there_is_one() -> None:
    with pytest.raises(UsageError, match="returns one tensor only: leave it out"):
        answer_among(named_tensors(ONE), "1")


def test_what_a_detector_finds_in_each_input_becomes_a_row() -> None:
    found = [{"boxes": torch.ones(3, 4), "scores": torch.ones(3)}, {"boxes": torch.ones(0, 4), "scores": torch.ones(0)}]
    rows = named_tensors(one_row_each(found, rows=2))
    assert rows["boxes"].shape == (2, MOST_FOUND, 4)
    assert rows["scores"].sum(1).tolist() == [3, 0]


@pytest.mark.parametrize(
    "value",
    [
        [ONE, TWO],
        [{"logits": ONE}, {"logits": ONE}],  # two heads, and a batch of two
        [{"boxes": ONE}, {"boxes": ONE}],
        [{"boxes": torch.ones(2, 5, 4), "scores": torch.ones(2, 5)}] * 2,
        [],
    ],
)
def test_a_list_of_other_things_is_left_as_it_is(value: list[object]) -> None:
    assert one_row_each(value, rows=len(value)) is value


@pytest.mark.parametrize("found", [0, 1, 2, 3])
def test_a_batch_as_large_as_the_number_of_boxes_is_read_like_any_other(found: int) -> None:
    each = {"boxes": torch.ones(found, 4), "scores": torch.ones(found)}
    assert named_tensors(one_row_each([each] * 2, rows=2))["boxes"].shape == (2, MOST_FOUND, 4)


def test_of_more_things_than_fit_the_surest_are_kept() -> None:
    scores = torch.arange(MOST_FOUND + 2).float()
    found = {"boxes": scores[:, None].repeat(1, 4), "scores": scores, "size": torch.tensor(7), "rest": torch.ones(300)}
    rows = named_tensors(one_row_each([found], rows=1))
    assert rows["scores"].tolist() == [list(range(MOST_FOUND + 1, 1, -1))]
    assert torch.equal(rows["boxes"][..., 0], rows["scores"])
    assert rows["size"].tolist() == [7] and rows["rest"].shape == (1, MOST_FOUND)


def test_tensors_that_the_same_way_leads_to_are_both_kept() -> None:
    found = named_tensors({"a": (ONE,), "a.0": TWO, "a.0.2": TWO})
    assert found["a.0"] is ONE and len(found) == 3
