"""The fixture `jostle` in real runs of pytest: what it finds, remembers, tells and refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from filelock import FileLock

from fuzzed_suites import OURS, QUICK, failures, folders, run, suite
from soaking import only_in_soak

pytest_plugins = ["pytester"]

FUZZ = """
def test_log(jostle):
    jostle.fuzz(MODEL, table(), oracle="nan", executions=300, QUICK).assert_clean()
"""
FOUND = 'jostle.fuzz(MODEL, table(), oracle="nan", executions=100, QUICK)'


def executions(pytester: pytest.Pytester) -> int:
    """Of the one campaign so far."""
    status = json.loads((folders(pytester)[0] / "campaign" / "status.json").read_text())
    return int(status["executions"])


def test_a_defect_fails_with_two_lines_what_and_the_command_that_shows_it(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    what, command = failures(result)
    assert what.startswith("nan: output is not finite when ") and command == "  pytest test_net.py::test_log"


def test_what_was_found_fails_at_once_in_the_next_run(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ)
    first = failures(run(pytester))
    before = executions(pytester)
    again = run(pytester)
    assert failures(again) == first
    assert executions(pytester) == before, "nothing was searched"


@pytest.mark.parametrize("other", ["Logarithm(scale=2.0)", "Logarithm(scale=-0.5)"])
def test_it_fails_at_once_on_another_model_too_that_has_the_defect(pytester: pytest.Pytester, other: str) -> None:
    suite(pytester, FUZZ)
    first = failures(run(pytester))
    before = executions(pytester)
    suite(pytester, FUZZ, model=other)
    assert failures(run(pytester)) == first
    assert executions(pytester) == before, "nothing was searched"


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("Logarithm(mended=True)", id="same weights, other code"),
        pytest.param("Logarithm(mended=True, scale=2.0)", id="other weights"),
    ],
)
def test_what_is_mended_fails_no_more_and_is_told_once(pytester: pytest.Pytester, model: str) -> None:
    suite(pytester, FUZZ)
    run(pytester).assert_outcomes(failed=1)
    suite(pytester, FUZZ, model=model)
    mended = run(pytester)
    mended.assert_outcomes(passed=1)
    mended.stdout.fnmatch_lines(["mended nan-output-*: output is not finite when * [[]test_net.py::test_log[]]"])
    assert executions(pytester) == 300, "a new campaign began"
    again = run(pytester)
    again.assert_outcomes(passed=1)
    again.stdout.no_fnmatch_line("mended *")


def test_findings_are_replayed_when_settings_have_changed(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ)
    first = failures(run(pytester))
    suite(pytester, FUZZ.replace("executions=300", "executions=300, batch=32, layers=[]"))
    assert failures(run(pytester)) == first
    suite(pytester, FUZZ.replace("executions=300", "executions=300, batch=32"), model="Logarithm(mended=True)")
    run(pytester).assert_outcomes(passed=1)
    suite(pytester, FUZZ.replace("executions=300", "executions=250, batch=64"), model="Logarithm(mended=True)")
    run(pytester).assert_outcomes(passed=1)
    assert executions(pytester) == 250, "of other settings, it begins anew"


def test_a_campaign_goes_on_with_a_budget_of_its_own(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ, model="Logarithm(mended=True)")
    for runs in (1, 2, 3):
        run(pytester).assert_outcomes(passed=1)
        assert executions(pytester) == 300 * runs


def test_a_defect_that_the_test_allows_stops_no_search(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ)
    run(pytester).assert_outcomes(failed=1)
    suite(pytester, FUZZ.replace("assert_clean()", 'assert_clean(allow="nan")'))
    run(pytester).assert_outcomes(passed=1)
    assert executions(pytester) == 600


def test_what_is_still_there_is_a_result_as_any_other(pytester: pytest.Pytester) -> None:
    suite(
        pytester,
        """
        def test_log(jostle):
            result = jostle.fuzz(MODEL, table(), oracle="nan", executions=300, QUICK)
            [defect] = result.defects
            assert (result.inputs(defect)["input"] <= 0.1).any()
            assert defect.cause.kind == "nan" and result.script(defect) is None
        """,
    )
    run(pytester).assert_outcomes(passed=1)
    run(pytester).assert_outcomes(passed=1)


def test_calls_and_parameters_have_folders_of_their_own(pytester: pytest.Pytester) -> None:
    suite(
        pytester,
        """
        @pytest.mark.parametrize("scale", [1.0, 2.0], ids=["con: <1>", "a|b?"])
        def test_log(jostle, scale):
            for mended in (True, False):
                model = Logarithm(mended, scale)
                jostle.fuzz(model, table(), oracle="nan", executions=100, QUICK)
        """,
    )
    run(pytester).assert_outcomes(passed=2)
    names = [folder.name for folder in folders(pytester)]
    assert len(names) == 4 and all((folder / "campaign").is_dir() for folder in folders(pytester))
    assert not any(set(name) & set('<>:"/\\|?*') for name in names)


def test_compare_and_coverage_are_those_of_the_package(pytester: pytest.Pytester) -> None:
    suite(
        pytester,
        """
        def test_twin(jostle):
            twin = lambda inputs: MODEL(inputs) * torch.where(inputs[:, :1] > 0.6, -1.0, 1.0)
            jostle.compare(MODEL, twin, table(), executions=300, QUICK).assert_clean()

        def test_coverage(jostle):
            net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU())
            assert 0 < jostle.coverage(net, table(), "nc")["nc"]["covered"] <= 1
        """,
        model="Logarithm(mended=True)",
    )
    result = run(pytester)
    result.assert_outcomes(failed=1, passed=1)
    counted, *lines = failures(result)
    assert counted == f"{len(lines) // 2} defects" and all(line.startswith("agree: ") for line in lines[::2])


def test_reports_tell_where_picture_and_script_stand(pytester: pytest.Pytester) -> None:
    suite(
        pytester,
        """
        def test_file(jostle):
            images = torch.linspace(0.2, 1, 256).reshape(4, 1, 8, 8)
            jostle.fuzz("net.py:build", images, oracle="nan", executions=200, QUICK).assert_clean()
        """,
    )
    result = run(pytester, "--junitxml=junit.xml")
    what, command, *attached = failures(result)
    assert what.startswith("nan: ") and command.startswith("  jostle replay .jostle/")
    assert (pytester.path / command.split()[2] / "jostle-case.json").is_file()
    assert [line.split()[1] for line in attached[1:]] == ["picture", "script"]
    found = ElementTree.parse(pytester.path / "junit.xml").iter("property")
    told = {one.get("name"): one.get("value") for one in found}
    assert Path(told["jostle_picture"] or "").is_file() and Path(told["jostle_script"] or "").is_file()
    assert (told["jostle_defect"] or "").startswith("nan-")
    assert failures(run(pytester))[0] == what, "also of what is still there"


@only_in_soak
def test_the_command_of_a_model_with_a_name_shows_the_defect(pytester: pytest.Pytester) -> None:
    body = """
    def test_file(jostle):
        jostle.fuzz("net.py:build", table(), oracle="nan", executions=200, QUICK).assert_clean()
    """
    suite(pytester, body)
    for _ in range(2):  # when it is found, and when it is known
        _, *arguments = failures(run(pytester))[1].split()
        call = [sys.executable, "-c", "from jostle.cli.main import main; main()", *arguments]
        shown = subprocess.run(call, cwd=pytester.path, capture_output=True, text=True)
        assert shown.returncode == 1 and shown.stdout.startswith("shown again: nan:"), shown


def test_the_command_is_the_test_where_an_object_is_needed(pytester: pytest.Pytester) -> None:
    body = """
    def test_twin(jostle):
        twin = lambda inputs: -inputs[:, :3]
        jostle.fuzz("net.py:build", table(), twin=twin, oracle="agree", executions=50, QUICK).assert_clean()
    """
    suite(pytester, body)
    for _ in range(2):
        assert "  pytest test_net.py::test_twin" in failures(run(pytester))


def test_paths_stand_from_where_pytest_was_started(pytester: pytest.Pytester) -> None:
    suite(
        pytester,
        """
        def test_file(jostle, monkeypatch, tmp_path):
            result = jostle.fuzz("net.py:build", table(), oracle="nan", executions=200, QUICK)
            monkeypatch.chdir(tmp_path)
            result.assert_clean()
        """,
    )
    _, command, *attached = failures(run(pytester))
    places = [command.split()[2], *(line.split()[2] for line in attached[1:])]
    assert len(places) > 1 and all((pytester.path / place).exists() for place in places)
    assert not any(Path(place).is_absolute() for place in places)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param('mutator="metamorphic", ranges="paper"', id="moved"),
        pytest.param('mutator="noise", sigma=0.4, radius=1.0, twin="int8", oracle="agree"', id="calibrated twin"),
        pytest.param('mutator="noise", sigma=0.2, radius=0.3, as_images=True', id="as images"),
    ],
)
def test_all_that_images_show_is_shown_again(pytester: pytest.Pytester, options: str) -> None:
    suite(
        pytester,
        f"""
        from jostle.zoo import lenet1, mnist_sample

        def test_digits(jostle):
            images, labels = mnist_sample()
            result = jostle.fuzz(lenet1(), images, labels=labels, executions=1500, confirm=False, {options})
            names = sorted(one.name for one in result.defects)
            open("defects.txt", "a").write(f"{{result.summary.executions}} {{names}}\\n")
        """,
    )
    for _ in range(2):
        run(pytester, "-W", "ignore").assert_outcomes(passed=1)
    first, second = (pytester.path / "defects.txt").read_text().splitlines()
    assert first.startswith("1500 ['") and second == first.replace("1500", "0")


def test_tests_that_fuzz_are_marked_so(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ + "def test_else():\n    pass\n")
    run(pytester, "-m", "not fuzz").assert_outcomes(passed=1, deselected=1)
    run(pytester, "--markers").stdout.fnmatch_lines(["@pytest.mark.fuzz: fuzzes a model*"])


def test_the_command_line_goes_before_the_call(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ.replace("executions=300", "executions=10_000_000"), model="Logarithm(mended=True)")
    run(pytester, "--jostle-budget=0.2s", "--jostle-seed=7").assert_outcomes(passed=1)
    config = json.loads((folders(pytester)[0] / "campaign" / "config.json").read_text())
    assert config["seed"] == 7 and config["budget"] == 0.2 and config["executions"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--jostle-budget=0s"], "*ERROR: --jostle-budget 0s: give a time such as 60s, 10m or 2h, at most 1000d"),
        (["--jostle-budget=soon"], "*ERROR: --jostle-budget soon: give a time such as 60s, 10m or 2h, at most 1000d"),
        (["--jostle-seed=-1"], "*ERROR: --jostle-seed -1: give a whole number from 0 *"),
        (["--jostle-profile=weekly"], "*invalid choice: 'weekly'*ci*nightly*"),
    ],
)
def test_options_that_cannot_be_are_refused_in_one_line(
    pytester: pytest.Pytester, arguments: list[str], told: str
) -> None:
    suite(pytester, FUZZ)
    result = run(pytester, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])
    assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ('jostle.fuzz(MODEL, table(), budgt="5s")', "UsageError: unknown setting 'budgt', did you mean 'budget'?"),
        (
            'jostle.fuzz(MODEL, table(), budget="0s")',
            "UsageError: --budget 0s: give a time such as 60s, 10m or 2h, at most 1000d",
        ),
        ("jostle.fuzz(torch.nn.Linear(3, 2), table())", "PreflightFailed: the model fails on seeds of shape *"),
        ('jostle.fuzz("nowhere.py:build", table())', "ModelRefused: nowhere.py does not exist: *"),
        ('jostle.compare(MODEL, "int9", table())', "UsageError: --twin 'int9' is unknown: did you mean int8?"),
        ('jostle.coverage(MODEL, table(), "kmcn")', "UsageError: *did you mean kmnc*"),
        (FOUND + '.inputs("x")', "UsageError: defect 'x' is unknown*"),
        (FOUND + '.figure("matrx")', "UsageError: *did you mean matrix*"),
        ('package.fuzz(MODEL, table(), budgt="5s")', "UsageError: unknown setting 'budgt', did you mean 'budget'?"),
    ],
)
@pytest.mark.parametrize("style", ["auto", "native"])
def test_bad_input_is_one_line_without_a_traceback_of_ours(
    pytester: pytest.Pytester, call: str, told: str, style: str
) -> None:
    suite(pytester, f"import jostle as package\n\ndef test_bad(jostle):\n    {call}\n")
    result = run(pytester, f"--tb={style}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{told}"])
    shown = "\n".join(failures(result))
    assert "src/jostle" not in shown and "During handling" not in shown and "direct cause" not in shown
    assert f"    {call}".replace("MODEL", "Logarithm()").replace("QUICK", QUICK) in shown.replace(">   ", "")
    assert style == "native" or sum(line.startswith("E  ") for line in failures(result)) == 1


def test_an_interrupted_campaign_interrupts_the_run(pytester: pytest.Pytester) -> None:
    suite(
        pytester,
        """
        import signal

        def test_log(jostle):
            seen = []

            def model(inputs):
                seen.append(1)
                if len(seen) == 30:
                    signal.raise_signal(signal.SIGINT)
                return inputs.flatten(1)

            jostle.fuzz(model, table(), oracle="nan", budget="10m", batch=8, QUICK)

        def test_next():
            raise AssertionError("not reached")
        """,
    )
    assert pytester.runpytest_subprocess(*OURS).ret == pytest.ExitCode.INTERRUPTED


def known(pytester: pytest.Pytester, what: str = "defects") -> list[str]:
    """The names of the cases that the one call keeps."""
    return sorted(path.name for path in (folders(pytester)[0] / "known").glob(f"{what}/*"))


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        pytest.param(FUZZ.replace('"nan"', '"crash"'), "none of the oracles seeks what it shows", id="other oracle"),
        pytest.param(FUZZ.replace("table()", "table()[:, :3]"), "its input has another shape *", id="other shape"),
    ],
)
def test_a_defect_that_cannot_be_judged_now_stays_and_is_told(
    pytester: pytest.Pytester, then: str, reason: str
) -> None:
    suite(pytester, FUZZ)
    run(pytester).assert_outcomes(failed=1)
    before = known(pytester)
    suite(pytester, then, model="Logarithm(mended=True)")
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"not run nan-output-*: {reason} [[]test_net.py::test_log[]]"])
    assert known(pytester) == before and not known(pytester, "mended")


def test_a_property_that_another_takes_the_place_of_is_not_mended(pytester: pytest.Pytester) -> None:
    body = """
    def low(element):
        return (element.output < -1).flatten(1).any(1)

    def lower(element):
        return (element.output < -99).flatten(1).any(1)

    def test_low(jostle):
        jostle.fuzz(MODEL, table(), oracle=low, executions=100, QUICK).assert_clean()
    """
    suite(pytester, body, model="Logarithm(mended=True)")
    run(pytester).assert_outcomes(failed=1)
    suite(pytester, body.replace("oracle=low", "oracle=lower"), model="Logarithm(mended=True)")
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["not run property-*: none of the oracles seeks *"])
    assert known(pytester)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("jostle-case.json", b'{"version": 99}'),
        ("campaign.json", b"{}"),
        ("input.npy", b"none"),
    ],
)
def test_a_damaged_case_is_moved_aside_and_told_once(pytester: pytest.Pytester, file: str, content: bytes) -> None:
    suite(pytester, FUZZ)
    run(pytester).assert_outcomes(failed=1)
    [name] = known(pytester)
    (folders(pytester)[0] / "known" / "defects" / name / file).write_bytes(content)
    suite(pytester, FUZZ, model="Logarithm(mended=True, scale=2.0)")
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"moved {name} to known/damaged/: *"])
    assert known(pytester) == [] and known(pytester, "damaged") == [name]
    run(pytester).stdout.no_fnmatch_line("moved *")


def test_a_warning_that_is_raised_costs_no_case(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ.replace("table()", "table() * torch.tensor([0.1, 1, 1, 1])"))
    result = run(pytester, "-W", "error::jostle.errors.JostleWarning")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *JostleWarning: every seed violates an oracle*"])
    assert known(pytester)
    ignored = run(pytester, "-W", "ignore")
    assert failures(ignored)[0].startswith("nan: ") and executions(pytester) < 300, "nothing was searched"


def test_a_campaign_that_somebody_works_in_is_not_removed(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ, model="Logarithm(mended=True)")
    run(pytester).assert_outcomes(passed=1)
    with FileLock(folders(pytester)[0] / "campaign" / "lock"):
        result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *OutputRefused: another process is at work in *"])
    assert executions(pytester) == 300


def test_a_damaged_campaign_begins_anew(pytester: pytest.Pytester) -> None:
    suite(pytester, FUZZ, model="Logarithm(mended=True)")
    run(pytester).assert_outcomes(passed=1)
    (folders(pytester)[0] / "campaign" / "config.json").write_bytes(b"{")
    run(pytester).assert_outcomes(passed=1)
    assert executions(pytester) == 300


def test_a_number_of_findings_is_that_of_one_run_too(pytester: pytest.Pytester) -> None:
    accepted = '[[accepted]]\ndefect = "nan"\nreason = "known"\nuntil = 2999-01-01\n'
    suite(pytester, FUZZ.replace("executions", "findings=1, executions"), **{"jostle-accepted.toml": accepted})
    run(pytester).assert_outcomes(passed=1)
    first = executions(pytester)
    run(pytester).assert_outcomes(passed=1)
    assert executions(pytester) > first


@pytest.mark.parametrize(("arguments", "seconds"), [((), 10), (("--jostle-profile=nightly",), 600)])
def test_the_profile_is_the_budget_of_the_campaign(
    pytester: pytest.Pytester, arguments: tuple[str, ...], seconds: int
) -> None:
    suite(pytester, FUZZ.replace("executions=300", "findings=1"))  # which ends long before
    run(pytester, *arguments).assert_outcomes(failed=1)
    assert json.loads((folders(pytester)[0] / "campaign" / "config.json").read_text())["budget"] == seconds
