"""What a user should care about most comes first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jostle.lineage import Mutation
from jostle.records import MODEL
from jostle.storage.finding_record import (
    Answer,
    ChangeSizes,
    Confirmation,
    FindingRecord,
    FinishedArray,
    InputType,
)
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import TriagedFinding

RECORD = FindingRecord(
    *(InputType.ARRAY, "flip", "a label became another", "flip:0:1:2", True, 1, 1, 1, "a seed", 0, -1),
    mutation=Mutation(("noise",)),
    largest_change=0.5,
    details={"label": 1, "taken for": 2},
)


def found(
    name: str,
    labels: tuple[int, int] = (1, 2),
    relative: float = 0.1,
    confidence: float = 0.6,
    root: int = 0,
    shown: int = 4,
    as_file: bool = True,
    steps: tuple[str, ...] = ("noise",),
) -> TriagedFinding:
    sizes = ChangeSizes(3, 1.0, relative, 0.1)
    answers = {"input": {MODEL: Answer(labels[1], confidence)}}
    finished = FinishedArray(sizes, None, answers, confirmation=Confirmation(4, shown))
    details = {"label": labels[0], "taken for": labels[1]}
    record = replace(RECORD, root=root, details=details, finished=finished)
    return TriagedFinding(Path(name), record, tuple(Mutation((step,)) for step in steps), as_file=as_file)


@pytest.mark.parametrize(
    "better",
    [
        {"relative": 0.01},
        {"confidence": 0.99},
        {"as_file": True},
        {"steps": ("rotation 3",)},
    ],
)
def test_of_two_defects_the_one_that_matters_more_comes_first(better: dict[str, object]) -> None:
    worse = {"relative": 0.3, "confidence": 0.5, "as_file": False, "steps": ("rotation 40",)}
    common = {name: worse[name] for name in worse}
    first, second = found("0001-a", (1, 2), **common), found("0002-b", (3, 4), **{**common, **better})  # type: ignore[arg-type]
    assert [one.cause.what for one in defects_of([first, second])] == ["3 → 4", "1 → 2"]


def test_a_defect_that_many_seeds_show_comes_before_one_that_few_do() -> None:
    many = [found(f"000{root}-a", (3, 4), root=root) for root in range(5)]
    assert [one.seeds for one in defects_of([found("0009-b"), *many])] == [5, 1]


def test_what_all_runs_show_comes_before_what_some_do() -> None:
    unstable = found("0001-a", (1, 2), relative=0.001, confidence=1.0, shown=3)
    first, second = defects_of([unstable, found("0002-b", (3, 4), relative=2.0, confidence=0.2)])
    assert (first.cause.what, first.unstable) == ("3 → 4", None)
    assert (second.cause.what, second.unstable) == ("1 → 2", 0.75)
    assert "It shows in 75% of the runs." in second.explanation


def test_the_finding_that_shows_a_defect_best_stands_first() -> None:
    far, near, flaky = found("0001-far", relative=0.5), found("0002-near", relative=0.01), found("0003-flaky", shown=1)
    (defect,) = defects_of([far, near, flaky])
    assert defect.findings == ("0002-near", "0001-far", "0003-flaky")
    assert defect.unstable is None
