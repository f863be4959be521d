"""How coverage grew is written down in few points, and read whatever happened to the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.step_records import Summary
from jostle.storage.coverage_history import (
    COVERAGE,
    CoverageHistory,
    CoveragePoint,
    encode_point,
    read_coverage,
)


def summary(executions: int, covered: float = 0.5) -> Summary:
    coverage = {"kmnc": {"covered": covered}}
    return Summary(1, executions, 1.0, 1, 0.0, coverage, {}, {}, {}, {}, {})


def executions(folder: Path) -> list[int]:
    return [point.executions for point in read_coverage(folder)]


def test_points_are_read_as_they_were_written(tmp_path: Path) -> None:
    history = CoverageHistory(tmp_path)
    for count in (100, 200, 300):
        history.add(summary(count, count / 1000))
    history.close()
    assert read_coverage(tmp_path) == [CoveragePoint(n, {"kmnc": {"covered": n / 1000}}) for n in (100, 200, 300)]


def test_a_million_steps_leave_a_thousand_points_and_the_last(tmp_path: Path) -> None:
    history = CoverageHistory(tmp_path)
    for count in range(1, 200_000):
        history.add(summary(count))
    history.add(summary(200_000), last=True)
    history.close()
    assert len(executions(tmp_path)) < 1_300 and executions(tmp_path)[-1] == 200_000


def test_a_campaign_that_has_nothing_to_add_writes_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        history = CoverageHistory(tmp_path)
        history.add(summary(100), last=True)
        history.close()
    assert (tmp_path / COVERAGE).read_bytes().count(b"\n") == 1


def test_what_was_done_again_counts_as_it_was_last(tmp_path: Path) -> None:
    points = [CoveragePoint(n, {"kmnc": {"covered": c}}) for n, c in ((1, 0.1), (2, 0.2), (3, 0.3), (2, 0.4), (5, 0.5))]
    (tmp_path / COVERAGE).write_bytes(b"".join(map(encode_point, points)))
    assert [(p.executions, p.coverage["kmnc"]["covered"]) for p in read_coverage(tmp_path)] == [
        (1, 0.1),
        (2, 0.4),
        (5, 0.5),
    ]


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe",
        b"[]",
        b'{"executions": 7}',
        b'{"executions": 7, "coverage": {"a": 3}}',
        b'{"executions": 7, "coverage": {"a": {"b": "c"}}}',
        b'{"executions": 7, "coverage": {"a": {"b": 1e999}}}',
        b"{" * 9000,
    ],
)
def test_a_line_that_is_no_point_is_left_out(tmp_path: Path, damage: bytes) -> None:
    good = encode_point(CoveragePoint(3, {"a": {"b": 1.0}}))
    (tmp_path / COVERAGE).write_bytes(damage + b"\n" + good)
    assert executions(tmp_path) == [3]


def test_a_folder_without_the_file_has_no_points(tmp_path: Path) -> None:
    assert read_coverage(tmp_path) == []
