"""Tests run what a promoted case names, so that a stranger's Python must not get into one unasked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import jostle
from fuzzed_suites import NET, folders, run, suite
from jostle.commands.promote import promote
from jostle.commands.promoted_cases import replay_cases
from jostle.errors import UsageError
from jostle.options.schema import Given
from jostle.storage.defect_case import cases_in
from jostle.storage.defect_record import CASE

pytest_plugins = ["pytester"]
EVIL = "import pathlib\n" + NET + "pathlib.Path(__file__).with_name('fired').touch()\n"
QUICK = {"mutator": "noise", "sigma": 0.3, "radius": 1.0, "range": (0, 1), "confirm": False, "executions": 200}


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's finding in the working folder, which has its own net.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NET, encoding="utf-8")
    seeds = np.linspace(0.3, 1, 24, dtype=np.float32).reshape(6, 4)
    jostle.fuzz("net.py:build", seeds, oracle="nan", out=tmp_path / "run", quiet=True, **QUICK)
    folder = Path(shutil.copytree(next((tmp_path / "run" / "findings").iterdir()), tmp_path / "sent"))
    (folder / "evil.py").write_text(EVIL, encoding="utf-8")
    return folder


def on(model: str) -> Given:
    """A model of the user's own, in place of that of a finding."""
    return Given({"model": model})


def rewrite(sent: Path, ran: Path, **settings: object) -> None:
    record = json.loads((sent / "campaign.json").read_text())
    record["origin"]["working folder"] = str(ran)
    (sent / "campaign.json").write_text(json.dumps({**record, **settings, "files": {}}))


@pytest.mark.parametrize("option", ["model", "metadata", "tokenizer"])
@pytest.mark.parametrize("spelled", ["sent/evil.py:build", "{sent}/evil.py:build"])
def test_code_that_came_with_a_finding_is_not_promoted_unasked(sent: Path, option: str, spelled: str) -> None:
    rewrite(sent, sent.parent, **{option: spelled.format(sent=sent)})
    with pytest.raises(UsageError, match=r"evil.py:build \(it lies in the folder\).*--trust-folder"):
        promote(sent, sent.parent / "cases")
    assert not (sent.parent / "cases").exists() and not (sent / "fired").exists()
    if option == "model":
        promote(sent, sent.parent / "own", on("net.py:build"))
    else:
        with pytest.raises(UsageError, match="it lies in the folder"):
            promote(sent, sent.parent / "own", on("net.py:build"))
    promote(sent, sent.parent / "trusted", Given({"trust_folder": True}))
    assert not (sent / "fired").exists(), "promoting runs nothing"


def test_a_finding_is_named_from_where_the_user_stands_and_not_from_where_it_was_found(
    sent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(sent, elsewhere / "received")
    monkeypatch.chdir(elsewhere)
    case = promote(Path("received"), Path("cases"))
    assert (elsewhere / case).is_dir()


def test_names_of_a_campaign_that_ran_elsewhere_are_not_promoted_unasked(sent: Path) -> None:
    rewrite(sent, sent.parent / "gone")
    (sent.parent / "net.py").write_text(NET + "\n# another one\n", encoding="utf-8")
    with pytest.raises(UsageError, match="it has changed since a run of yours"):
        promote(sent, sent.parent / "cases")
    promote(sent, sent.parent / "cases", on("net.py:build"))


@pytest.mark.parametrize("way", ["absolute name", "relative name", "absolute folder", "relative folder", "link"])
def test_a_case_runs_nothing_outside_the_root_of_the_tests_unasked(sent: Path, way: str) -> None:
    root = sent.parent / "root"
    case = promote(sent, root / "cases")
    (root / "linked").symlink_to(sent)
    ran, name = {
        "absolute name": ("", f"{sent}/evil.py:build"),
        "relative name": ("", "../sent/evil.py:build"),
        "absolute folder": (str(sent), "evil.py:build"),
        "relative folder": ("../sent", "evil.py:build"),
        "link": ("linked", "evil.py:build"),
    }[way]
    rewrite(case, Path(ran) if ran else Path(), model=name)
    for trust_model in (False, True):
        with pytest.raises(UsageError, match="which is not in"):
            replay_cases([case], root, trust_model=trust_model)
    assert not (sent / "fired").exists()


HOSTILE = "\x1b[31m\x9bred\n::error title=x::y\r\u202e"


def rename(case: Path) -> None:
    content = json.loads((case / CASE).read_text())
    content["defect"] |= {"title": HOSTILE, "kind": f"::warning::{HOSTILE}"}
    (case / CASE).write_text(json.dumps(content))


def assert_harmless(result: pytest.RunResult) -> None:
    shown = result.stdout.str()
    assert "red ::error title=x::y" in shown
    assert not set("\x1b\x9b\r\u202e") & set(shown)
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())


def test_words_of_known_defects_command_neither_terminal_nor_log(pytester: pytest.Pytester) -> None:
    body = """
    def test_log(jostle):
        jostle.fuzz(MODEL, table(), oracle="nan", executions=200, QUICK).assert_clean()
    """
    suite(pytester, body)
    run(pytester).assert_outcomes(failed=1)
    [case] = cases_in(folders(pytester)[0] / "known" / "defects")
    rename(case)
    still = run(pytester)
    still.assert_outcomes(failed=1)
    assert_harmless(still)
    suite(pytester, body, model="Logarithm(mended=True)")
    mended = run(pytester)
    mended.assert_outcomes(passed=1)
    assert_harmless(mended)


def test_words_of_promoted_cases_command_neither_terminal_nor_log(sent: Path, pytester: pytest.Pytester) -> None:
    suite(pytester, "")
    case = promote(sent, pytester.path / "cases", on("net.py:build"))
    rename(case)
    result = run(pytester, "cases")
    result.assert_outcomes(failed=1)
    assert_harmless(result)
