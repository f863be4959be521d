"""Defects that a committed file accepts, with a reason and a day on which that ends."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from fuzzed_suites import failures, run, suite
from jostle.errors import UsageError
from jostle.pytest_plugin.accepted import FILE, Acceptance, Acceptances, read_accepted

pytest_plugins = ["pytester"]
FUZZ = """
def test_log(jostle):
    jostle.fuzz(MODEL, table(), oracle="nan", executions=200, QUICK).assert_clean()
"""
ENTRY = '[[accepted]]\ndefect = "nan-output-*"\nreason = "the sensor never gives less"\nuntil = 2999-01-31\n'


def test_an_accepted_defect_fails_nothing_and_is_told_of(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ, **{FILE: ENTRY})
    for _ in range(2):  # also when it is known from before
        result = run(pytester)
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(
            ["*= jostle =*", "accepted nan-output-*: the sensor never gives less (until 2999-01-31) [[]test_net.py::*"]
        )


def test_an_entry_that_is_over_fails_and_says_so(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ, **{FILE: ENTRY.replace("2999", "1999")})
    for _ in range(2):
        what, command, over = failures(run(pytester))
        assert what.startswith("nan: ") and command == "  pytest test_net.py::test_log"
        assert over == f"  accepted until 1999-01-31, which is over: the sensor never gives less ({FILE})"


def test_an_entry_for_another_test_accepts_nothing(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ, **{FILE: ENTRY + 'test = "test_net.py::test_other"\n'})
    run(pytester).assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("test", "covered"),
    [
        (None, True),
        ("tests/test_x.py::test_a[int8]", True),
        ("tests/test_x.py::test_a", True),
        ("tests/*", True),
        ("tests/test_x.py::test_b", False),
        ("test_x.py::test_a", False),
    ],
)
def test_a_test_stands_for_all_its_parameters(test: str | None, covered: bool) -> None:
    entry = Acceptance("flip", "known", date(2030, 1, 31), test)
    assert entry.covers("flip", "flip-4-to-9", "tests/test_x.py::test_a[int8]") is covered
    assert not entry.covers("nan", "nan-output", "tests/test_x.py::test_a[int8]")


@pytest.mark.parametrize(
    ("defect", "covered"),
    [("agree", True), ("agree int8", True), ("agree onnx", False), ("agree-*", True), ("ag*", True), ("flip", False)],
)
def test_a_kind_stands_for_all_twins_that_it_may_be_about(defect: str, covered: bool) -> None:
    entry = Acceptance(defect, "known", date(2030, 1, 31))
    assert entry.covers("agree int8", "agree-int8-4-to-9", "t") is covered


def test_the_last_day_counts_and_the_longest_entry_decides() -> None:
    short, long = (Acceptance("flip*", "known", date(2030, month, 1)) for month in (1, 6))
    assert not short.expired(date(2030, 1, 1)) and short.expired(date(2030, 1, 2))
    assert Acceptances([long, short]).of("flip", "flip-4-to-9", "t") == long
    assert Acceptances([long, short]).of("nan", "nan", "t") is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[[accepted", "cannot be read: "),
        ("accepted = 3", "write entries as [[accepted]]"),
        ("[accept]\ndefect = 'x'", "write entries as [[accepted]]"),
        (ENTRY.replace("reason", "reasn"), "entry 1 has an unknown 'reasn', did you mean 'reason'?"),
        (ENTRY.replace('reason = "the sensor never gives less"\n', ""), 'entry 1 has no reason: add reason = "…"'),
        (ENTRY.replace("the sensor never gives less", " "), 'entry 1 has no reason: add reason = "…"'),
        (ENTRY + ENTRY.replace("until = 2999-01-31", ""), "entry 2 has no day on which it ends: add until = "),
        (ENTRY.replace("2999-01-31", '"2999-01-31"'), "entry 1 has no day on which it ends: add until = "),
        (ENTRY + "test = 3", "entry 1: test is the id of a test"),
    ],
)
def test_a_file_that_says_something_else_is_refused_in_one_line(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_accepted(tmp_path)
    assert str(caught.value).startswith(FILE) and told in str(caught.value) and "\n" not in str(caught.value)


def test_a_broken_file_is_one_line_in_the_report(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ, **{FILE: "[[accepted"})
    result = run(pytester)
    result.stdout.fnmatch_lines([f"E       jostle.errors.UsageError: {FILE} cannot be read: *"])
    assert "src/jostle" not in result.stdout.str()
