"""Plots and words on where twins depart from their model."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageColor

from jostle.lineage import SEED
from jostle.storage.beginnings import Beginnings, beginnings
from jostle.storage.divergence_plots import MOST_LAYERS, PLOT, chart_of_all, chart_of_finding, draw_divergences
from jostle.storage.finding_record import (
    RECORD,
    ChangeSizes,
    Divergence,
    FindingRecord,
    FinishedArray,
    InputType,
    LayerDivergence,
    encode_record,
    record_as_json,
)
from jostle.storage.layer_chart import HEAD, MARKED, ROW, SCALE, USUAL, VALUE, Axis, drawn_chart, drawn_charts, elided

SIZE = ChangeSizes(1, 1.0, 1.0, 1.0)


def divergence(begins: str | None = "fc1", *rows: tuple[float, float], twin: str = "int8") -> Divergence:
    """With layers conv1, fc1, fc2 … that diverge so far, on this input and on the seeds."""
    names = ["conv1", *(f"fc{number}" for number in range(1, len(rows)))]
    layers = tuple(LayerDivergence(name, name, *row) for name, row in zip(names, rows, strict=False))
    return Divergence(twin, begins, begins is not None, layers)


ONE = divergence("fc1", (0.0, 0.0), (0.1, 1e-4), (math.inf, 1e-4))


def dots(picture: Image.Image, row: int) -> dict[str, list[int]]:
    """Of one row of a chart, where dots of each colour stand: a dot is so high as no line that crosses the row."""
    middle = int((HEAD + ROW * (row + 0.5)) * SCALE)
    found = {name: ImageColor.getrgb(name) for name in (USUAL, VALUE, MARKED)}
    return {
        name: [x for x in range(picture.width) if all(picture.getpixel((x, middle + y)) == colour for y in (-5, 5))]
        for name, colour in found.items()
    }


def test_an_axis_has_places_for_zero_for_powers_of_ten_in_order_and_for_infinity() -> None:
    values = [0.0, 1e-7, 3e-5, 0.2, 1.0, 50.0, math.inf]
    axis = Axis.over(values, 10)
    places = [axis.at(value) for value in values]
    assert places == sorted(set(places)) and axis.left < places[0] and places[-1] < axis.right
    assert axis.at(1e-6) - axis.at(1e-7) == pytest.approx(axis.at(1.0) - axis.at(0.1))


@pytest.mark.parametrize("values", [[], [0.0], [math.inf], [math.nan], [1e-300, 1e300], [5e-324], [1.0]])
def test_an_axis_survives_any_values(values: list[float]) -> None:
    axis = Axis.over(values, 0)
    assert all(axis.left <= axis.at(value) <= axis.right for value in [*values, 0.0, 1.0])
    assert axis.first < axis.last and axis.ticks


def test_a_chart_shows_zeros_at_the_left_end_infinity_at_the_right_and_marks_where_it_begins() -> None:
    picture = drawn_chart(chart_of_finding(ONE, "0001-agree"))
    zero, begins, infinite = (dots(picture, row) for row in range(3))
    assert max(zero[VALUE]) < max(begins[USUAL]) < max(begins[MARKED]) < max(infinite[VALUE])
    assert not zero[MARKED] and not infinite[MARKED] and not begins[VALUE]


@pytest.mark.parametrize(
    "rows", [[(0.0, 0.0)] * 3, [(math.inf, math.inf)], [(1e-30, 1e30)], [(0.5, 0.1)], [(1e-3, 1e-4)] * 2000]
)
def test_charts_of_any_numbers_can_be_drawn(rows: list[tuple[float, float]]) -> None:
    one = divergence(None, *rows)
    for chart in (chart_of_finding(one, "name" * 40), chart_of_all(Beginnings("int8", (one, one)))):
        picture = drawn_charts([chart, chart])
        assert picture.height < 2 * SCALE * ROW * (MOST_LAYERS + 20) and picture.width < 4000


def test_of_all_findings_the_median_is_shown_and_how_many_begin_in_each_layer() -> None:
    some = [
        divergence(begins, (0.0, 1e-4), (10.0**-power, 1e-4))
        for begins, power in zip(["fc1", "fc1", "conv1"], range(1, 4), strict=True)
    ]
    chart = chart_of_all(Beginnings("int8", tuple(some)))
    first, second = chart.rows
    assert (first.note, first.marked, second.note, second.marked) == ("begins in 1", False, "begins in 2", True)
    assert (second.low, second.middle, second.high) == (0.001, 0.01, 0.1) and second.usual == 1e-4


def test_a_name_that_is_too_long_loses_its_middle() -> None:
    assert elided("conv1") == "conv1"
    assert len(elided("block" * 50)) <= 44 and elided("a" * 60 + "end").endswith("end")


def test_words_name_the_layers_most_findings_begin_in() -> None:
    rows = ((0.0, 0.0), (0.1, 0.01))
    found = [divergence(name, *rows) for name in ["fc1"] * 3 + ["conv1"]]
    assert str(*beginnings(found)) == "int8: fc1 (3 of 4), conv1 (1)"
    edge = replace(found[0], beyond_seeds=False)
    assert str(*beginnings([*found, edge])) == (
        "int8: fc1 (4 of 5), conv1 (1); 1 of 5 hardly further apart than on the seeds: there the answer lies on an edge"
    )
    nowhere = divergence(None, (0.0, 0.0))
    assert str(*beginnings([nowhere])).startswith("int8: no layer beyond rounding (1 of 1)")
    many = [divergence(f"layer{number}", *rows) for number in range(7)]
    assert str(*beginnings(many)).endswith("layer3 (1), 3 more")


def test_each_twin_has_words_of_its_own() -> None:
    found = [ONE, replace(ONE, twin="a/b.onnx"), Divergence("compile", None, False, ()), ONE]
    assert list(map(str, beginnings(found))) == [
        "int8: fc1 (2 of 2)",
        "b.onnx: fc1 (1 of 1)",
        "compile: cannot be looked into, no layers correspond to the model's",
    ]
    assert beginnings(found)[0].as_json() == {"layers": {"fc1": 2}, "beyond the seeds": 2}


def write(campaign: Path, number: int, finished: FinishedArray | None) -> Path:
    record = FindingRecord(
        InputType.ARRAY, "agree", "", "agree:x", True, number, 1, 1, "seed", 0, -1, SEED, 0.5, {}, finished
    )
    folder = campaign / "findings" / f"000{number}-agree"
    folder.mkdir(parents=True)
    (folder / RECORD).write_bytes(encode_record(record_as_json(record)))
    return folder


def test_each_finding_of_twins_gets_a_plot_once_and_the_campaign_one_of_all(tmp_path: Path) -> None:
    first = write(tmp_path, 1, FinishedArray(SIZE, None, {}, ONE))
    without = [
        write(tmp_path, 2, FinishedArray(SIZE, None, {}, Divergence("compile", None, False, ()))),
        write(tmp_path, 3, FinishedArray(SIZE, None, {})),
        write(tmp_path, 4, None),
    ]
    draw_divergences(tmp_path)
    assert (first / PLOT).exists() and not any((folder / PLOT).exists() for folder in without)
    before = (tmp_path / PLOT).stat().st_mtime_ns, (first / PLOT).stat().st_mtime_ns
    draw_divergences(tmp_path)
    assert ((tmp_path / PLOT).stat().st_mtime_ns, (first / PLOT).stat().st_mtime_ns) == before
    write(tmp_path, 5, FinishedArray(SIZE, None, {}, replace(ONE, twin="onnx")))
    height = Image.open(tmp_path / PLOT).height
    draw_divergences(tmp_path)
    assert Image.open(tmp_path / PLOT).height == 2 * height, "a chart for each twin"


def test_a_campaign_without_twins_has_no_plot(tmp_path: Path) -> None:
    write(tmp_path, 1, FinishedArray(SIZE, None, {}))
    draw_divergences(tmp_path)
    assert not (tmp_path / PLOT).exists()
