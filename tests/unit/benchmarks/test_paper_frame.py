"""The frame of `make paper`: what is measured is kept, what fails is told, and the page is written of what is there."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from doubled_numbers import doubled

from paper.__main__ import main
from paper.sample_statistics import fisher, mann_whitney, spread, wilcoxon
from paper.table import Cell, Data, Result, Section, Table


def table(log: Path, numbers: Mapping[int, str], name: str = "doubles", version: str = "1") -> dict[str, Table]:
    """A table of cells by number, with what each is missing."""

    def cells(data: Data) -> list[Cell]:
        return [
            Cell(f"n/{number}", 0.1, doubled, {"log": str(log), "number": number}, missing)
            for number, missing in numbers.items()
        ]

    def section(results: Mapping[str, Result]) -> Section:
        return Section(
            "Holds: all doubled.", f"sum {sum(one['twice'] for one in results.values())}", {"p.svg": b"<svg/>"}
        )

    return {name: Table(name, name.title(), "numbers double.", version, cells, section)}


def ran(log: Path) -> list[int]:
    return sorted(map(int, log.read_text().split())) if log.exists() else []


def run(tables: dict[str, Table], home: Path, *arguments: str) -> int:
    return main(["--processes", "1", *arguments], tables, home)


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOSTLE_DATA", raising=False)


def test_a_failing_cell_is_told_in_a_line_and_the_next_run_measures_only_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables, broken = table(log := tmp_path / "log", {1: "", 13: "", 2: ""}), tmp_path / "broken"
    broken.touch()
    assert run(tables, tmp_path) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "FAILED:" in line]
    assert "doubles/n/13" in line and "ValueError: thirteen is broken" in line
    assert "sum 6" in (page := tmp_path / "docs" / "paper.md").read_text()
    broken.unlink()
    assert run(tables, tmp_path) == 0
    assert ran(log) == [1, 2, 13, 13]
    assert "sum 32" in page.read_text() and (tmp_path / "docs" / "pictures" / "p.svg").exists()


def test_a_process_that_dies_takes_no_other_cell_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(table(log := tmp_path / "log", {66: "", 1: ""}), tmp_path) == 1
    assert ran(log) == [1, 66]
    assert "doubles/n/66 FAILED: its process died (exit code 3)" in capsys.readouterr().out


def test_a_result_of_another_version_or_half_a_file_counts_for_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run(table(log, {1: "", 2: ""}), tmp_path)
    (kept,) = (tmp_path / "jostle-runs" / "paper" / "doubles").glob("n.2.json")
    kept.write_text(kept.read_text()[:20])
    run(table(log, {1: "", 2: ""}), tmp_path)
    assert ran(log) == [1, 2, 2]
    run(table(log, {1: "", 2: ""}, version="2"), tmp_path)
    assert ran(log) == [1, 1, 2, 2, 2]


def test_an_unknown_table_is_refused_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(table(tmp_path / "log", {1: ""}), tmp_path, "doubels") == 4
    assert capsys.readouterr().err == "ONLY 'doubels' is unknown: did you mean doubles?\n"


def test_a_data_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(table(tmp_path / "log", {1: ""}), tmp_path, "--data", str(tmp_path / "gone")) == 4
    assert "gone: give DATA=folder" in capsys.readouterr().err


def test_missing_data_are_named_with_their_command_and_refused_if_nothing_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = Data(tmp_path).lacks("mnist")
    assert lacking == "the data folder holds no mnist: make paper DATA=a folder that does"
    assert run(table(log := tmp_path / "log", {1: lacking, 2: lacking}), tmp_path) == 4
    assert capsys.readouterr().err == f"{lacking}\n" and not ran(log)
    assert run(table(log, {1: lacking, 2: ""}), tmp_path) == 0
    assert f"*Not run: {lacking}.*" in (tmp_path / "docs" / "paper.md").read_text() and ran(log) == [2]


def test_a_table_that_was_measured_elsewhere_keeps_its_section(tmp_path: Path) -> None:
    log, page = tmp_path / "log", tmp_path / "docs" / "paper.md"
    tables = table(log, {1: ""}) | table(log, {2: ""}, "others")
    run(tables, tmp_path)
    for kept in (tmp_path / "jostle-runs" / "paper" / "others").iterdir():
        kept.unlink()
    written = page.read_text()
    run(tables, tmp_path, "doubles")
    assert ran(log) == [1, 2] and page.read_text() == written
    assert "| Others | `make paper ONLY=others` | Holds: all doubled. |" in written


def test_a_quick_run_is_kept_apart_and_says_so(tmp_path: Path) -> None:
    tables, page = table(log := tmp_path / "log", {1: ""}), tmp_path / "docs" / "paper.md"
    run(tables, tmp_path, "--quick")
    assert not page.exists() and "`--quick`" in (tmp_path / "jostle-runs" / "paper-quick" / "paper.md").read_text()
    run(tables, tmp_path)
    assert ran(log) == [1, 1] and "--quick" not in page.read_text()


@pytest.mark.slow
def test_every_table_of_the_papers_can_be_kept_and_sent_to_a_process() -> None:
    from paper.tables import TABLES

    for one in TABLES.values():
        for data in (Data(), Data(quick=True)):
            cells = one.cells(data)
            assert cells and len({cell.name for cell in cells}) == len(cells), one.name
            assert len({cell.name.replace("/", ".") for cell in cells}) == len(cells), one.name
            json.dumps([dict(cell.settings) for cell in cells])
            pickle.dumps([cell.measure for cell in cells])


def test_ranks_tell_samples_apart_and_ties_do_not() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, float("inf")]
    assert mann_whitney(high, low).effect == 1 and mann_whitney(low, low).effect == 0.5
    assert mann_whitney(high, low).above and mann_whitney(low, high).below
    assert mann_whitney(high, low).p == pytest.approx(2 / 252)  # both ends of all 252 ways to draw five of ten
    assert wilcoxon(low, low).p == mann_whitney([1, 1], [1, 1]).p == 1
    assert wilcoxon([2, 3, 4, 5, 6, 7], [1, 1, 1, 1, 1, 1]).p == pytest.approx(2 / 64)
    assert wilcoxon([2, 3, 9], [1, 3, 10]).effect == 0.5
    assert str(wilcoxon([2, 3, 4], [1, 3, 10])).endswith("larger in 1 and smaller in 1 of 3 pairs")
    assert fisher(5, 5, 0, 5).p == pytest.approx(2 / 252) and fisher(5, 5, 0, 5).effect == 1
    assert spread([3, 1, 2], ".0f") == "2 (1 to 3)" and spread([]) == "–"


def test_settings_of_cells_are_what_their_results_depend_on(tmp_path: Path) -> None:
    from paper.results import digest_of

    (one,) = table(tmp_path / "log", {1: ""}).values()
    (cell,) = one.cells(Data())
    other: Any = replace(cell, settings={**cell.settings, "number": 2})
    digests = {digest_of(one, each, data) for each in (cell, other) for data in (Data(), Data(quick=True))}
    assert len(digests) == 4 and digest_of(one, replace(cell, cost=9), Data()) in digests
