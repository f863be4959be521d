"""What changed and what was said, in words."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from jostle.errors import UsageError
from jostle.lineage import Mutation
from jostle.records import MODEL
from jostle.report.cards import _begins
from jostle.storage.class_names import read_class_names
from jostle.storage.finding_block import npy
from jostle.storage.finding_record import (
    NOT_FINITE,
    Answer,
    ChangeSizes,
    FindingRecord,
    FinishedArray,
    InputType,
    Location,
)
from jostle.storage.step_words import step_words
from jostle.triage.triaged_finding import TriagedFinding
from jostle.triage.words import NOT_WATCHED, Words

RECORD = FindingRecord(
    input_type=InputType.ARRAY,
    kind="flip",
    summary="label 4 became 9",
    fingerprint="flip:7:4:9",
    alone=True,
    bug=1,
    step=1,
    execution=1,
    seed="digits[7]",
    root=7,
    parent=-1,
    mutation=Mutation(("noise",)),
    largest_change=0.04,
    details={"label": 4, "taken for": 9},
)
ANSWERS = {"seed": {MODEL: Answer(4, 0.991)}, "input": {MODEL: Answer(9, 0.912)}}
FINISHED = FinishedArray(ChangeSizes(32, 0.2, 0.1, 0.04), None, ANSWERS)


def finding(folder: Path, *steps: str, input: Tensor | None = None, reference: Tensor | None = None) -> TriagedFinding:
    reference = torch.zeros(1, 28, 28) if reference is None else reference
    arrays = {"input": reference if input is None else input, "reference": reference, "label": torch.tensor(4)}
    for name, array in arrays.items():
        (folder / f"{name}.npy").write_bytes(npy(array))
    return TriagedFinding(folder, replace(RECORD, finished=FINISHED), tuple(Mutation((step,)) for step in steps))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("rotation 11.2", "rotated by 11° counter-clockwise"),
        ("rotation -40", "rotated by 40° clockwise"),
        ("scaling 0.9", "shrunk by 10.0%"),
        ("brightness -0.02", "a little darker"),
        ("brightness 0.2", "brighter by 20% of the range"),
        ("contrast 0.8", "less contrast by 20%"),
        ("noise", "with noise"),
        ("gain -3 dB", "quieter by 3 dB"),
        ("low-pass 3.1e+03 Hz", "without what is above 3,100 Hz"),
        ("replace 5", "replace 5"),
        ("step income", "income changed"),
    ],
)
def test_every_step_is_told_with_its_size(step: str, words: str) -> None:
    assert step_words(Mutation((step,))) == words


def test_steps_of_one_class_come_to_one_phrase(tmp_path: Path) -> None:
    told = Words().change(finding(tmp_path, "rotation 5", "brightness 0.01", "rotation 6"))
    assert told == "Changed: rotated by 11° counter-clockwise, a little brighter."


def test_pixels_are_counted_where_any_channel_changed_by_more_than_rounding(tmp_path: Path) -> None:
    reference = torch.full((3, 28, 28), 0.5)
    mutant = reference + 1e-9
    mutant[:, :4, :8] += 0.04
    told = Words().change(finding(tmp_path, input=mutant, reference=reference))
    assert told == "Changed: 32 of 784 pixels by at most 0.04."


def test_values_of_other_arrays_are_counted_too(tmp_path: Path) -> None:
    told = Words().change(finding(tmp_path, input=torch.tensor([1.0, 2.5]), reference=torch.tensor([1.0, 2.0])))
    assert told == "Changed: 1 of 2 values by at most 0.5."


def test_a_minimised_input_is_compared_with_what_was_moved_as_it_is(tmp_path: Path) -> None:
    one = finding(tmp_path, "rotation 40", input=torch.ones(1, 28, 28))
    moved, small = torch.full((1, 28, 28), 0.25), torch.full((1, 28, 28), 0.25)
    small[0, 0, :3] += 0.1
    for name, array in (("minimised", small), ("minimised-reference", moved)):
        (tmp_path / f"{name}.npy").write_bytes(npy(array))
    assert "(3 of 784 pixels by at most 0.1)" in Words().change(one)


def test_a_seed_that_fails_as_it_is_says_so(tmp_path: Path) -> None:
    assert Words().change(finding(tmp_path)) == "Nothing changed: it is the seed itself."


def test_columns_of_a_table_are_named(tmp_path: Path) -> None:
    one = finding(tmp_path, "step income")
    (tmp_path / "change.txt").write_text("column  seed   input\nincome  2,300  2,500\njob     cook   pilot\n")
    assert "income from 2,300 to 2,500, job from cook to pilot" in Words().change(one)


def test_what_was_said_before_and_after_is_told_with_names_of_classes(tmp_path: Path) -> None:
    words = Words({4: "a cat", 9: "a dog"})
    one = finding(tmp_path, "rotation 11")
    assert words.title([one]) == "a cat taken for a dog when rotated by 11° counter-clockwise"
    assert words.said(one) == ["The model says a dog (91.2%), of the seed a cat (99.1%).", "The true label is a cat."]


def test_a_label_is_called_true_only_if_the_seed_was_given_it(tmp_path: Path) -> None:
    one = finding(tmp_path, "rotation 11")
    unlabelled = replace(one, record=replace(one.record, own_label=True))
    assert Words().truth(one) == "4" and Words().truth(unlabelled) == ""
    assert Words().said(unlabelled) == Words().said(one)[:-1], "all else is said as of others"


@pytest.mark.parametrize(
    ("low", "title", "sentence"),
    [
        (-1.0, "fc2 is not finite", "fc2 made it from values between -1 and 3."),
        (
            math.nan,
            "NaN or infinity first seen in fc2, which was given it already",
            f"It is first seen in fc2, which was given NaN or infinity already{NOT_WATCHED}.",
        ),
    ],
)
def test_a_layer_is_blamed_for_a_nan_only_if_it_was_given_none(
    low: float, title: str, sentence: str, tmp_path: Path
) -> None:
    finished = replace(FINISHED, location=Location("fc2", NOT_FINITE, low, 3.0))
    one = finding(tmp_path)
    nan = replace(one, record=replace(one.record, kind="nan", details={"place": "fc2"}, finished=finished))
    assert Words().title([nan]) == title
    assert sentence in Words().explanation([nan])
    place = _begins(finished)
    assert place is not None and ("lay between -1 and 3" in place.told) == (low == -1)
    assert ("was given NaN or infinity already" in place.told) == math.isnan(low)


@pytest.mark.parametrize(
    ("details", "title"),
    [
        (
            {"message": "the corner\nis lit", "where": "net.py:forward"},
            "ValueError: the corner is lit (net.py:forward)",
        ),
        ({"message": "", "where": "net.py:forward"}, "ValueError (net.py:forward)"),
        ({"message": "x" * 90}, f"ValueError: {'x' * 79}…"),
    ],
)
def test_the_title_of_a_crash_has_its_message(details: dict[str, object], title: str, tmp_path: Path) -> None:
    one = finding(tmp_path)
    crash = replace(one, record=replace(one.record, kind="crash", details={"error": "ValueError", **details}))
    assert Words().title([crash]) == title


@pytest.mark.parametrize("content", ["cat\ndog\n", '["cat", "dog"]', '{"0": "cat", "1": "dog"}'])
def test_class_names_have_three_forms(content: str, tmp_path: Path) -> None:
    (tmp_path / "names").write_text(content)
    assert read_class_names(tmp_path / "names") == {0: "cat", 1: "dog"}


@pytest.mark.parametrize("content", [b"", b'{"a": "cat"}', b"[1, [2]]", b"{", b"\xff\xfe", b"[" * 5000])
def test_what_names_no_classes_is_refused_with_the_forms(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "names").write_bytes(content)
    with pytest.raises(UsageError, match="one name a line, a JSON list"):
        read_class_names(tmp_path / "names")
