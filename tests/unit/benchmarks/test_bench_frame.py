"""The frame of `make bench`: what a script measures is kept, and stands in its block of the page and nowhere else."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from bench.block import PAGE, block_name, block_of
from bench.command import HOME, run_script
from bench.kept import MEASURED, kept_names, read_kept
from bench.rows import Beside, Figures, Row, at_least, at_most, ratio_row
from marked_sections import marked, sections, with_section
from paper.table import Data

AROUND = f"# Results\n\nBefore.\n\n{marked('measured: others', 'theirs')}\nBetween.\n\n"
ROWS = (
    ratio_row("loop / bare pass", [(6.0, 10.0), (7.0, 10.0)], "bare pass", "100 executions", at_least(0.6, aim=0.75)),
    Row("seconds to begin", Figures((4.0,), ".1f", " s"), "once", at_most(3.0)),
    Row("tests", Figures((1.0, 2.0), ",.0f", ""), "once", beside=Beside("alone", Figures((3.0,), ".2f", " s"))),
)


def measure(data: Data) -> Iterator[Row]:
    yield from ROWS


def breaks(data: Data) -> Iterator[Row]:
    yield ROWS[0]
    raise OSError("the network is gone")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose page has a block for `ours.py` and one for `others.py`."""
    monkeypatch.delenv("JOSTLE_DATA", raising=False)
    (tmp_path / PAGE).parent.mkdir()
    (tmp_path / PAGE).write_text(AROUND + marked("measured: ours", "nothing yet") + "\nAfter.\n")
    return tmp_path


def test_what_is_measured_is_kept_and_stands_in_its_block_alone(home: Path) -> None:
    assert run_script("ours.py", measure, [], home) == 0
    page = (home / PAGE).read_text()
    assert page.startswith(AROUND) and page.endswith("-->\n\nAfter.\n") and "nothing yet" not in page
    kept = read_kept(home, "ours")
    assert kept.rows == ROWS and kept_names(home) == ["ours"]
    assert sections(page)["measured: ours"] == block_of("ours", kept)


def test_a_block_tells_bars_figures_what_stood_beside_them_and_how_they_were_measured(home: Path) -> None:
    run_script("ours.py", measure, [], home)
    block, conditions = sections((home / PAGE).read_text())["measured: ours"], read_kept(home, "ours").conditions
    share = "at least 0.60×, aim 0.75× | **0.65× (0.60 to 0.70)** | bare pass 10/s (10 to 10) | 2 × 100 executions"
    assert f"| loop / bare pass | {share} |" in block
    assert "| seconds to begin | at most 3.0 s | 4.0 s: not reached |  | 1 × once |" in block
    assert "python benchmarks/ours.py" in block and conditions.processor in block and conditions.date in block
    assert f"{conditions.cores} cores" in block and conditions.origin in block and "torch" in conditions.origin


def test_what_is_measured_again_takes_the_place_of_what_was(home: Path) -> None:
    run_script("ours.py", measure, [], home)
    run_script("ours.py", lambda data: ROWS[:1], [], home)
    page = (home / PAGE).read_text()
    assert page.count("loop / bare pass") == 1 and "seconds to begin" not in page and page.startswith(AROUND)


def test_a_quick_run_prints_and_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (home / PAGE).read_text()
    assert run_script("ours.py", measure, ["--quick"], home) == 0
    assert "loop / bare pass: 0.65× (0.60 to 0.70); bar at least 0.60×, aim 0.75×: reached" in capsys.readouterr().out
    assert (home / PAGE).read_text() == before and not (home / MEASURED).exists()


def test_a_script_that_breaks_leaves_what_was_kept(home: Path) -> None:
    run_script("ours.py", measure, [], home)
    before = (home / PAGE).read_text()
    with pytest.raises(OSError, match="the network is gone"):
        run_script("ours.py", breaks, [], home)
    assert (home / PAGE).read_text() == before and read_kept(home, "ours").rows == ROWS


def test_a_script_without_a_place_on_the_page_is_refused_before_it_measures(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script("new.py", breaks, [], home) == 4
    said = capsys.readouterr().err
    assert "<!-- measured: new -->" in said and "<!-- end of measured: new -->" in said
    (home / PAGE).write_text(AROUND + marked("measured: new", "") + "\nAfter.\n")
    assert run_script("new.py", measure, [], home) == 0


def test_a_data_folder_that_is_not_there_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script("ours.py", breaks, ["--data", str(home / "gone")], home) == 4
    assert "gone: give DATA=folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0.6, 0.7, 0.8), "reached"),
        ((0.5, 0.7, 0.8), "reached in the median only"),
        ((0.5, 0.5, 0.8), "not reached"),
    ],
)
def test_a_bar_is_reached_by_all_runs_in_the_median_or_not(values: tuple[float, ...], verdict: str) -> None:
    assert Row("", Figures(values), "", at_least(0.6)).verdict == verdict
    assert Row("", Figures(tuple(-value for value in values)), "", at_most(-0.6)).verdict == verdict
    assert Row("", Figures(values), "").verdict == ""


def test_a_section_is_replaced_whatever_it_holds() -> None:
    page = AROUND + marked("measured: ours", "a\\1 | b\n\n$&") + "\nAfter.\n"
    assert with_section(page, "measured: ours", "a\\1 | b\n\n$&") == page
    assert sections(page)["measured: ours"] == "a\\1 | b\n\n$&"


def test_a_page_whose_marks_are_damaged_is_left_alone() -> None:
    page = AROUND + marked("measured: ours", "text") + "\nAfter.\n"
    for damaged in (page.replace("<!-- measured", "<!-- meas"), page.replace("<!-- end of measured", "<!-- end of")):
        with pytest.raises(ValueError, match="no section measured: ours"):
            with_section(damaged, "measured: ours", "other")


def test_blocks_of_our_page_say_what_is_kept_and_nothing_else() -> None:
    page = sections((HOME / PAGE).read_text(encoding="utf-8"))
    for name in kept_names(HOME):
        assert page[block_name(name)] == block_of(name, read_kept(HOME, name)), f"make bench ONLY={name} writes it"


def test_make_bench_runs_every_script_that_writes_a_block_and_each_has_its_place() -> None:
    scripts = {path.stem for path in (HOME / "benchmarks").glob("*.py") if "run_script(__file__" in path.read_text()}
    listed = re.search(r"^MEASURED := ((?:.*\\\n)*.*)", (HOME / "Makefile").read_text(), re.MULTILINE)
    assert listed and set(listed[1].replace("\\", " ").split()) == scripts
    assert {block_name(name) for name in scripts} <= sections((HOME / PAGE).read_text(encoding="utf-8")).keys()


def test_busy_loops_end_with_their_block() -> None:
    from threads import busy_machine

    before = set(psutil.Process().children())
    with busy_machine():
        assert set(psutil.Process().children()) > before
    assert set(psutil.Process().children()) == before
