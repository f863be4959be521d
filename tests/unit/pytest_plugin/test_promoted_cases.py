"""`jostle promote` writes small cases, and pytest runs them by itself."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import jostle
from fuzzed_suites import NET, failures, run, suite
from jostle.cli.run_command import run_command
from jostle.commands.promote import promote
from jostle.commands.promoted_cases import replay_cases
from jostle.commands.replay import ReplayStatus
from jostle.commands.triage import triaged
from jostle.errors import JostleError, ModelRefused, UsageError
from jostle.lineage import NO_GRADIENT
from jostle.options.schema import Given
from jostle.pytest_plugin.case_items import CaseReplays
from jostle.pytest_plugin.known_defects import KnownDefects
from jostle.session.session import Ended
from jostle.storage.defect_case import cases_in, read_case, write_case
from jostle.storage.files import read_json

pytest_plugins = ["pytester"]
QUICK = {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1), "confirm": False, "executions": 200}
SMALL = 12_000  # bytes of all metadata
SEEDS = np.linspace(0.3, 1, 24, dtype=np.float32).reshape(6, 4)
# A model, two twins, of which the second is wrong, and a property.
TWINS = """
from net import Logarithm


class Turned(Logarithm):
    def forward(self, inputs):
        return -super().forward(inputs)


def model():
    return Logarithm(mended=True)


def alike():
    return Logarithm(mended=True)


def turned():
    return Turned(mended=True)


def low(element):
    return (element.output < -1).flatten(1).any(1)
"""
# A model that raises on the last seed.
FRAGILE = """
from net import Logarithm


class Fragile(Logarithm):
    def forward(self, inputs):
        if (inputs[:, 3] > 0.99).any():
            raise ValueError("too bright")
        return super().forward(inputs)


def build():
    return Fragile(mended=True)
"""


def on(model: str) -> Given:
    """A model of the user's own, in place of that of a finding."""
    return Given({"model": model})


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """A project with a campaign over net.py:build, in whose folder we are."""
    suite(pytester, "")
    fuzz(pytester.path, "net.py:build", "log", oracle="nan")
    return pytester.path


def fuzz(project: Path, model: object, name: str, **options: object) -> None:
    jostle.fuzz(model, SEEDS, out=project / "runs" / name, quiet=True, **{**QUICK, **options})


def finding(project: Path, name: str = "log") -> Path:
    return next((project / "runs" / name / "findings").iterdir())


def jostle_command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["jostle", *arguments])
    return run_command()


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


@pytest.mark.slow
def test_a_case_names_no_file_that_only_the_search_read(project: Path) -> None:
    np.save(project / "seeds.npy", SEEDS)
    (project / "classes.txt").write_text("low\nmiddle\nhigh\n", encoding="utf-8")
    named = {"classes": project / "classes.txt", "out": project / "runs" / "files", "oracle": "nan"}
    jostle.fuzz(f"{project}/net.py:build", f"{project}/seeds.npy", quiet=True, **{**QUICK, **named})
    case = promote(finding(project, "files"), project / "cases")
    assert str(project) not in "".join(path.read_text() for path in case.glob("*.json"))
    assert read_case(case).campaign.all_settings["seeds"] == "seeds.npy"
    assert replay_cases([case], project)[0].status is ReplayStatus.AGAIN


def test_what_is_kept_of_a_test_is_bounded_over_all_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jostle.pytest_plugin.known_defects.MOST", 2)
    result = jostle.Result(triaged(project / "runs" / "log"), Ended(None, 0, full=False, stopped=False))
    known, [defect] = KnownDefects(project / "known"), result.defects
    defects = [replace(defect, name=f"{defect.name}-{number}") for number in range(3)]
    for one in defects:
        shutil.copytree(result.place(defect), result.folder / "defects" / one.name)
    for some in (defects[2:], defects[:2], defects):
        known.keep(jostle.Result(replace(result.triaged, defects=some), result.ended))
    assert [case.name for case in known.cases] == [defects[0].name, defects[2].name]


def test_a_case_that_cannot_be_read_makes_no_other_load_the_model(project: Path) -> None:
    case = promote(finding(project), project / "cases")
    twice, damaged = (Path(shutil.copytree(case, project / "cases" / name)) for name in ("twice", "damaged"))
    (damaged / "input.npy").write_bytes(b"none")
    loads = project / "loads"
    (project / "net.py").write_text(f"{NET}\nopen({str(loads)!r}, 'a').write('once ')\n", encoding="utf-8")
    replays = CaseReplays([damaged, case, twice], project, None, False)
    for folder in (case, twice):
        assert replays.of(folder).status is ReplayStatus.AGAIN
    with pytest.raises(JostleError, match="is damaged"):
        replays.of(damaged)
    assert loads.read_text() == "once "


def test_a_defect_is_promoted_like_its_finding_and_once_only(project: Path) -> None:
    defect = next((project / "runs" / "log" / "defects").iterdir())
    first = promote(defect, project / "cases")
    assert promote(defect, project / "cases") == first
    original = project / "runs" / "log" / "findings" / read_case(first).defect.findings[0]
    assert promote(original, project / "cases") == first
    assert read_case(first).defect.name == defect.name == first.name
    (first / "finding.json").write_bytes((first / "finding.json").read_bytes()[:-20])
    with pytest.raises(JostleError, match="holds no whole case"):
        promote(defect, project / "cases")


def test_another_defect_of_the_same_name_gets_a_folder_of_its_own(project: Path) -> None:
    (project / "cases" / "nan-output-is-not-finite-noise").mkdir(parents=True)
    assert promote(finding(project), project / "cases").name == "nan-output-is-not-finite-noise-2"


@pytest.mark.slow
def test_names_stand_from_the_folder_that_tests_run_in(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = finding(project)
    monkeypatch.chdir(project.parent)
    case = promote(place, project / "cases")
    assert read_case(case).model == "net.py:build" and read_case(case).campaign.origin.folder == project.name
    other = promote(place, project / "others", on(f"{project.name}/net.py:build"))
    assert read_case(other).model == "net.py:build"
    monkeypatch.chdir(project / "runs")
    for replay in replay_cases([case, other], project.parent):
        assert replay.status is ReplayStatus.AGAIN and replay.folder in (case, other)
    (project.parent / "elsewhere").mkdir()
    with pytest.raises(UsageError, match="promote it anew"):
        replay_cases([case], project.parent / "elsewhere")


@pytest.mark.slow
@pytest.mark.parametrize("spelled", ["", "{project}/"])
@pytest.mark.parametrize("oracle", ["agree", "twins.py:low"])
def test_what_is_named_after_a_twin_or_a_property_is_shown_again(
    project: Path, oracle: str, spelled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "twins.py").write_text(TWINS, encoding="utf-8")
    there = spelled.format(project=project)
    twins = {"twin": [f"{there}twins.py:alike", f"{there}twins.py:turned"]} if oracle == "agree" else {}
    named = oracle if oracle == "agree" else f"{there}{oracle}"
    fuzz(project, f"{there}twins.py:model", "named", oracle=named, **twins)
    case = promote(finding(project, "named"), project / "cases")
    assert str(project) not in (case / "campaign.json").read_text() + (case / "finding.json").read_text()
    monkeypatch.chdir(project.parent)
    [replay] = replay_cases([case], project)
    assert replay.status is ReplayStatus.AGAIN
    (project / "twins.py").write_text(TWINS.replace("return -super()", "return super()"), encoding="utf-8")
    if oracle == "agree":
        assert replay_cases([case], project)[0].status is ReplayStatus.GONE


@pytest.mark.slow
def test_words_for_twins_and_oracles_are_no_paths(project: Path) -> None:
    for name in ("nan", "onnx"):
        (project / name).mkdir()
    case = promote(finding(project), project / "cases", on("net.py:build"))
    assert "nan" in read_case(case).campaign.all_settings["oracle"]
    assert replay_cases([case], project)[0].status is ReplayStatus.AGAIN


def test_the_same_bug_of_another_model_or_input_is_another_case(project: Path) -> None:
    shutil.copy(project / "net.py", project / "net2.py")
    first = promote(finding(project), project / "cases")
    second = promote(finding(project), project / "cases", on("net2.py:build"))
    assert (first.name + "-2", read_case(first).model) == (second.name, "net.py:build")
    moved = Path(shutil.copytree(finding(project), project / "moved"))
    np.save(moved / "input.npy", np.load(moved / "input.npy") * np.float32(0.9))
    assert promote(moved, project / "cases") not in (first, second)
    assert promote(finding(project), project / "cases") == first


def test_a_whole_campaign_and_a_file_in_place_of_a_folder_are_refused(project: Path) -> None:
    with pytest.raises(UsageError, match=r"log is a whole campaign: give the findings to keep, .*log/findings/…"):
        promote(project / "runs" / "log", project / "cases")
    with pytest.raises(UsageError, match=r"net\.py is a file: give a folder for cases"):
        promote(finding(project), project / "net.py")


def test_a_folder_that_its_campaign_does_not_know_is_refused_in_one_line(project: Path) -> None:
    defect = next((project / "runs" / "log" / "defects").iterdir())
    for place, of in (("defects/unlisted", defect), ("flaky/0001-nan", finding(project))):
        folder = Path(shutil.copytree(of, project / "runs" / "log" / place))
        with pytest.raises(UsageError, match="is not known to its campaign") as caught:
            promote(folder, project / "cases")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("part", ["oracle", "twin"])
def test_a_finding_that_needs_an_object_beside_the_model_is_refused(project: Path, part: str) -> None:
    def low(element: object) -> torch.Tensor:
        return (element.output < -1).flatten(1).any(1)  # type: ignore[attr-defined]

    def turned(inputs: torch.Tensor) -> torch.Tensor:
        return inputs[:, :3].neg()

    held = {"oracle": {"oracle": low}, "twin": {"oracle": "agree", "twin": turned}}[part]
    fuzz(project, "net.py:build", "held", **held)
    with pytest.raises(UsageError, match="an object of a script that no later run has"):
        promote(finding(project, "held"), project / "cases", on("net.py:build"))


@pytest.mark.slow
def test_a_model_that_can_execute_code_runs_where_the_command_line_trusts_it(
    project: Path, pytester: pytest.Pytester
) -> None:
    sys.path.insert(0, str(project))  # as pytest does, and pytester undoes
    from net import build  # type: ignore[import-not-found]

    torch.jit.trace(build(), torch.from_numpy(SEEDS)).save(str(project / "net.pt"))
    fuzz(project, "net.pt", "script", oracle="nan", trust_model=True)
    case = promote(finding(project, "script"), project / "cases")
    with pytest.raises(ModelRefused, match="--trust-model"):
        replay_cases([case], project)
    result = run(pytester, "cases", "--jostle-trust-model")
    result.assert_outcomes(failed=1)
    assert failures(result)[0].endswith("(shown again)")


def test_the_configuration_of_a_project_does_not_consent_for_whoever_runs_its_tests(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\njostle_trust_model = true\n")
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "remove it, and give --jostle-trust-model" in result.stderr.str()


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_a_crash_on_the_seed_itself_is_shown_again(project: Path, named: bool) -> None:
    (project / "fragile.py").write_text(FRAGILE, encoding="utf-8")
    fuzz(project, "fragile.py:build", "fragile", oracle="nan")
    found = [place for place in (project / "runs" / "fragile" / "findings").iterdir() if "crash" in place.name]
    case = promote(found[0], project / "cases")
    if not named:
        held(case)
    [replay] = replay_cases([case], project, model="fragile.py:build")
    assert replay.status is ReplayStatus.AGAIN


def test_cases_with_twins_run_one_by_one(project: Path) -> None:
    case = promote(finding(project), project / "cases")
    twice = Path(shutil.copytree(case, project / "cases" / "twice"))
    assert CaseReplays([case, twice], project, None, False)._like(case) == [twice]
    for folder in (case, twice):
        content = read_json(folder / "campaign.json")
        (folder / "campaign.json").write_text(json.dumps({**content, "twin": ["int8"]}), encoding="utf-8")
    assert CaseReplays([case, twice], project, None, False)._like(case) == []


def test_a_case_of_a_gradient_is_skipped_and_told(project: Path, pytester: pytest.Pytester) -> None:
    case = promote(finding(project), project / "cases")
    known = read_case(case)
    write_case(case, replace(known, record=replace(known.record, mutation=NO_GRADIENT)), finding(project))
    result = run(pytester, "cases")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"not run {case.name}: it is of a gradient *"])


def held(case: Path) -> None:
    """Makes it a case of an object."""
    for name in ("campaign.json", "jostle-case.json"):
        content = read_json(case / name)
        (case / name).write_text(json.dumps({**content, "model": "jostle.held:Logarithm"}), encoding="utf-8")


@pytest.mark.slow
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
        replay_cases([case], project)
    assert replay_cases([case], project, "net.py:build")[0].status is ReplayStatus.AGAIN
    result = run(pytester, "cases")
    result.assert_outcomes(failed=1)
    [line] = failures(result)
    assert line.startswith("UsageError: the model of nan-output-is-not-finite-noise was an object of a test: ")
    assert promote(known, project / "cases", on("net.py:build")) == case, "which takes its place"
    assert read_case(case).model == "net.py:build"


@pytest.mark.slow
def test_pytests_configuration_may_name_the_model_of_objects(project: Path, pytester: pytest.Pytester) -> None:
    case = promote(finding(project), project / "cases", on("net.py:build"))
    held(case)
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
