"""What a result tells: defects, tables, figures, a page, and an assertion for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import jostle
from jostle.commands.triage import Triaged
from jostle.errors import UsageError
from jostle.triage.failure import MOST_TOLD
from jostle.zoo import lenet1, mnist_sample


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> jostle.Result:
    folder = tmp_path_factory.mktemp("campaign") / "run"
    how = {"recipe": "deephunter", "executions": 3000, "confirm": False, "quiet": True}
    return jostle.fuzz(lenet1(), *mnist_sample(), out=folder, **how)


def test_a_table_has_a_row_for_each_defect(result: jostle.Result) -> None:
    table = result.to_pandas()
    assert list(table["name"]) == [defect.name for defect in result.defects]
    assert list(table["findings"]) == [len(defect.findings) for defect in result.defects]


@pytest.mark.parametrize("what", ["matrix", "coverage", "progress", "mutations", "lineage"])
def test_every_figure_shows_something(result: jostle.Result, what: str) -> None:
    figure = result.figure(what)
    assert len(figure.data) > 0 and figure.to_html(include_plotlyjs=False)


def test_the_layers_of_a_twin_that_is_an_object_are_those_of_the_model_in_order() -> None:
    model, twin = lenet1(), lenet1()
    with torch.no_grad():
        twin.conv2.weight *= -1
    images = mnist_sample()[0][:40]
    result = jostle.compare(model, twin, images, executions=400, confirm=False, quiet=True)
    figure = result.figure("layers", result.defects[0])
    shown = {trace.name: list(trace.x) for trace in figure.data}
    assert shown.keys() == {"this finding", "seeds"} and shown["seeds"][:2] == ["conv1", "relu1"]


def test_a_defect_that_is_not_of_a_twin_has_no_figure_of_layers(result: jostle.Result) -> None:
    with pytest.raises(UsageError, match="layers shows such"):
        result.figure("layers")


def test_the_matrix_counts_every_finding_once(result: jostle.Result) -> None:
    (trace,) = result.figure("matrix").data
    total = sum(count or 0 for row in trace.z for count in row)
    assert total == sum(len(defect.findings) for defect in result.defects)


def test_an_unknown_figure_or_defect_is_refused_with_the_nearest(result: jostle.Result) -> None:
    with pytest.raises(UsageError, match="did you mean matrix"):
        result.figure("matrx")
    with pytest.raises(UsageError, match="did you mean"):
        result.inputs(result.defects[0].name + "x")
    with pytest.raises(UsageError, match="defect '0' is unknown"):
        result.inputs(0)  # type: ignore[arg-type]


def test_notebooks_get_a_table_in_which_names_stay_text(result: jostle.Result) -> None:
    hostile = replace(result.defects[0], title="<script>alert(1)</script>")
    shown = jostle.Result(replace(result.triaged, defects=[hostile]), result.ended)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


def test_a_kind_that_is_allowed_stands_for_all_twins(result: jostle.Result) -> None:
    first = result.defects[0]
    of_twin = replace(first, cause=replace(first.cause, kind="agree int8"))
    shown = jostle.Result(replace(result.triaged, defects=[of_twin]), result.ended)
    assert not shown.other_than(["agree"]) and not shown.other_than(["agree int8"])
    assert shown.other_than(["agree onnx", "int8"]) == [of_twin]


def test_a_page_is_written_where_it_is_asked_for(result: jostle.Result, tmp_path: Path) -> None:
    assert result.report(tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert result.report() == result.folder / "report.html"


def test_a_defect_fails_with_what_it_is_and_what_shows_it(result: jostle.Result) -> None:
    with pytest.raises(AssertionError) as caught:
        result.assert_clean()
    lines = str(caught.value).splitlines()
    first = result.defects[0]
    assert lines[0].startswith(f"{len(result.defects)} defect")
    assert lines[1] == f"{first.cause.kind}: {first.title}" and "jostle replay" in lines[2]
    assert len(lines) <= 2 * MOST_TOLD + 2


def test_what_no_folder_keeps_is_told_once(result: jostle.Result) -> None:
    gone = jostle.Result(result.triaged, result.ended, temporary=True)
    with pytest.raises(AssertionError) as caught:
        gone.assert_clean()
    assert str(caught.value).count("out=FOLDER") == 1 and str(caught.value).endswith("it keeps what shows it")


def test_what_is_allowed_does_not_fail(result: jostle.Result) -> None:
    result.assert_clean(allow="*")
    result.assert_clean(allow={defect.cause.kind for defect in result.defects})
    names = [defect.name for defect in result.defects]
    with pytest.raises(AssertionError, match=r"^flip: "):
        result.assert_clean(allow=names[1:])


def test_nothing_found_is_clean(result: jostle.Result) -> None:
    nothing = jostle.Result(Triaged(result.folder, [], 0, 0, 0, at_work=False), result.ended)
    nothing.assert_clean()
    assert "0 defects" in repr(nothing) and "<table>" not in nothing._repr_html_()
