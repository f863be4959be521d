"""`jostle promote` writes small cases, and pytest runs them by itself."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import jostle
from fuzzed_suites import NET, failures, run, suite
from jostle.cli.main import main
from jostle.commands.promote import options_of_case, promote
from jostle.errors import JostleError, UsageError
from jostle.storage.defect_case import cases_in, read_case
from jostle.storage.files import read_json

pytest_plugins = ["pytester"]
QUICK = {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1), "confirm": False, "executions": 200}
SMALL = 12_000  # bytes of all metadata


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """A project with a campaign over net.py:build, in whose folder we are."""
    suite(pytester, "")
    seeds = np.linspace(0.3, 1, 24, dtype=np.float32).reshape(6, 4)
    jostle.fuzz("net.py:build", seeds, oracle="nan", out=pytester.path / "runs" / "log", quiet=True, **QUICK)
    return pytester.path


def finding(project: Path) -> Path:
    return next((project / "runs" / "log" / "findings").iterdir())


def jostle_command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["jostle", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert isinstance(left.value.code, int)
    return left.value.code


def mend(project: Path) -> None:
    (project / "net.py").write_text(NET.replace("mended=False", "mended=True"), encoding="utf-8")


@pytest.mark.slow
def test_a_promoted_finding_is_a_test_that_fails_until_the_model_is_mended(
    project: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert jostle_command(monkeypatch, "promote", str(finding(project)), "tests/regressions") == 0
    [case] = cases_in(project / "tests" / "regressions")
    assert capsys.readouterr().out.startswith("tests/regressions/nan-output-is-not-finite-noise: output is not finite")
    shutil.rmtree(project / "runs")
    result = run(pytester, "tests")
    result.assert_outcomes(failed=1)
    what, command = failures(result)
    assert what.startswith("nan: output is not finite when ") and what.endswith(" (shown again)")
    assert command == f"  pytest {case.relative_to(project).as_posix()}/jostle-case.json::{case.name}"
    mend(project)
    run(pytester, "tests").assert_outcomes(passed=1)
    run(pytester, "tests", "-m", "not fuzz").assert_outcomes(deselected=1)


def test_a_case_is_small_and_of_arrays_and_json_only(project: Path) -> None:
    case = promote(finding(project), project / "cases")
    assert {path.suffix for path in case.iterdir()} == {".npy", ".json"}
    assert sum(path.stat().st_size for path in case.glob("*.json")) < SMALL
    assert str(project) not in (case / "campaign.json").read_text(), "it says nothing of this machine"
    for path in case.glob("*.npy"):
        np.load(path, allow_pickle=False)
    told = read_json(case / "jostle-case.json")
    assert told["model"] == "net.py:build" and told["defect"]["kind"] == "nan"


def test_a_defect_is_promoted_like_its_finding_and_once_only(project: Path) -> None:
    defect = next((project / "runs" / "log" / "defects").iterdir())
    first = promote(defect, project / "cases")
    assert promote(defect, project / "cases") == first == promote(finding(project), project / "cases")
    assert read_case(first).defect.name == defect.name == first.name
    (first / "finding.json").write_bytes((first / "finding.json").read_bytes()[:-20])
    with pytest.raises(JostleError, match="holds no whole case"):
        promote(defect, project / "cases")


def test_another_defect_of_the_same_name_gets_a_folder_of_its_own(project: Path) -> None:
    (project / "cases" / "nan-output-is-not-finite-noise").mkdir(parents=True)
    assert promote(finding(project), project / "cases").name == "nan-output-is-not-finite-noise-2"


def test_names_stand_from_the_folder_that_tests_run_in(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = finding(project)
    monkeypatch.chdir(project.parent)
    case = promote(place, project / "cases")
    assert read_case(case).model == f"{project.name}/net.py:build"
    assert options_of_case(case, project.parent).get("model") == f"{project / 'net.py'}:build"
    monkeypatch.chdir(project / "runs")
    outside = promote(place, project / "others")
    assert read_case(outside).model == "net.py:build", "a file beyond the folder keeps its name"


def test_a_case_of_an_object_needs_a_model_that_has_a_name(project: Path, pytester: pytest.Pytester) -> None:
    suite(
        pytester,
        """
        def test_log(jostle):
            jostle.fuzz(MODEL, table(), oracle="nan", executions=200, QUICK).assert_clean()
        """,
    )
    run(pytester, "test_net.py").assert_outcomes(failed=1)
    [known] = cases_in(next((project / ".jostle").glob("*/known/defects")))
    case = promote(known, project / "cases")
    with pytest.raises(UsageError, match="was an object of a test: promote it with --model"):
        options_of_case(case, project)
    named = options_of_case(case, project, "net.py:build")
    assert named == options_of_case(promote(known, project / "named", model="net.py:build"), project)
    result = run(pytester, "cases")
    result.assert_outcomes(failed=1)
    [line] = failures(result)
    assert line.startswith("UsageError: the model of nan-output-is-not-finite-noise was an object of a test: ")


@pytest.mark.slow
def test_pytests_configuration_may_name_the_model_of_objects(project: Path, pytester: pytest.Pytester) -> None:
    case = promote(finding(project), project / "cases", model="net.py:build")
    for name in ("campaign.json", "jostle-case.json"):
        content = read_json(case / name)
        (case / name).write_text(json.dumps({**content, "model": "jostle.held:Logarithm"}), encoding="utf-8")
    twice = project / "cases" / "twice"
    shutil.copytree(case, twice)
    pytester.makeini("[pytest]\njostle_model = net.py:build\n")
    run(pytester, "cases").assert_outcomes(failed=2)
    mend(project)
    run(pytester, "cases").assert_outcomes(passed=2)


def test_a_damaged_case_is_one_line(project: Path, pytester: pytest.Pytester) -> None:
    case = promote(finding(project), project / "cases")
    (case / "input.npy").write_bytes(b"none")
    result = run(pytester, "cases")
    result.assert_outcomes(failed=1)
    [line] = failures(result)
    assert line.startswith("OutputRefused: ") and line.endswith("input.npy is damaged: move the folder away")


@pytest.mark.slow
def test_a_damaged_case_fails_alone(project: Path, pytester: pytest.Pytester) -> None:
    case = promote(finding(project), project / "cases")
    shutil.copytree(case, project / "cases" / "damaged")
    (project / "cases" / "damaged" / "input.npy").write_bytes(b"none")
    mend(project)
    run(pytester, "cases").assert_outcomes(passed=1, failed=1)


def test_what_is_no_finding_cannot_be_promoted(project: Path) -> None:
    with pytest.raises(UsageError, match="holds no finding"):
        promote(project, project / "cases")
