"""What docs/pytest.md shows is so."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from fuzzed_suites import failures, run, suite
from jostle.cli.run_command import run_command
from jostle.pytest_plugin.run_options import PROFILES

pytest_plugins = ["pytester"]
PAGE = (Path(__file__).parents[3] / "docs" / "pytest.md").read_text(encoding="utf-8")
FUZZ = """
def test_log(jostle):
    jostle.fuzz(Logarithm(), table(), oracle="nan", executions=300, QUICK).assert_clean()
"""


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_first_example_runs_as_it_stands(pytester: pytest.Pytester) -> None:
    (pytester.path / "test_digits.py").write_text(block("python"), encoding="utf-8")
    run(pytester, "--jostle-budget=0.5s", "-W", "ignore").assert_outcomes(passed=1)


def test_a_failure_looks_as_shown_and_can_be_accepted_and_promoted(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(pytester, FUZZ)
    shown = re.findall(r"^    (.*)$", PAGE, re.MULTILINE)[-2:]
    found = failures(run(pytester))
    assert [re.sub(r"[\d.]+$", "", line) for line in found] == [re.sub(r"[\d.]+$", "", line) for line in shown]
    pattern, target = shlex.split(block("console").partition("$ jostle promote ")[2])[:2]
    [known] = pytester.path.glob(pattern)
    rest = shlex.split(block("console"))[4:]
    monkeypatch.setattr(sys, "argv", ["jostle", "promote", str(known), *rest])
    assert run_command() == 0 and list((pytester.path / target).glob("*/jostle-case.json"))
    (pytester.path / "jostle-accepted.toml").write_text(block("toml"), encoding="utf-8")
    run(pytester, "test_net.py").assert_outcomes(passed=1)


def test_the_page_tells_the_budgets_of_profiles() -> None:
    assert PROFILES == {"ci": "10s", "nightly": "10m"}
    assert "10 s (`ci`, the default) or 10 min" in PAGE
