"""`jostle export`, and what makes it and `jostle fuzz` fail."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from running import Ended

from campaign_folders import written_campaign
from jostle.cli.terminal import Exit

Run = Callable[..., Ended]
SCHEMAS = Path(__file__).parents[1] / "schemas"
HOSTILE = "\n::error::<b>]]>&amp;\x1b|`@all`{0}\u202e"


def fuzz(*more: str) -> tuple[str, ...]:
    call = "fuzz models.py:Overflowing --seeds few.npz --executions 300 --sigma 0.5 --radius 1 --oracle nan"
    return (*call.split(), *more)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with defects of two kinds, written as campaigns write them."""
    return written_campaign(tmp_path_factory.mktemp("export") / "campaign", 9)


@pytest.fixture
def campaign(baseline: Path, tmp_path: Path) -> Path:
    return shutil.copytree(baseline, tmp_path / "campaign")


def check_files(folder: Path) -> dict[str, Any]:
    """The files are valid by their published schemas; the run of the SARIF log."""
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    log = json.loads((folder / "jostle.sarif").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(log)
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(str(folder / "junit.xml"))
    run = log["runs"][0]
    assert isinstance(run, dict)
    return run


def export(jostle: Run, campaign: Path, out: Path, *more: str) -> Ended:
    files = ("--junit", str(out / "junit.xml"), "--sarif", str(out / "jostle.sarif"), "--markdown", str(out / "m.md"))
    return jostle("export", str(campaign), *files, *more)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_formats_of_one_campaign_tell_the_defects_that_triage_tells(
    jostle: Run, campaign: Path, tmp_path: Path
) -> None:
    before = contents(campaign)
    ended = export(jostle, campaign, tmp_path)
    assert ended.code == Exit.CLEAN and ended.out.count("written to") == 3 and not ended.err
    assert contents(campaign) == before, "the folder is read only"
    defects = jostle("triage", str(campaign), "--json").json()["defects"]
    run = check_files(tmp_path)
    titles = [defect["title"] for defect in defects]
    assert len(titles) > 2 and len(run["results"]) == len(titles)
    assert all(title in one["message"]["text"] for title, one in zip(titles, run["results"], strict=True))
    failures = ElementTree.parse(tmp_path / "junit.xml").iter("failure")
    assert [one.get("message") for one in failures] == titles
    assert (tmp_path / "m.md").read_text(encoding="utf-8").count("<details>") == len(titles)


def test_a_campaign_full_of_hostile_words_breaks_nothing(
    jostle: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = written_campaign(tmp_path / "campaign", 4, HOSTILE)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    ended = export(jostle, hostile, tmp_path, "--github")
    assert ended.code == Exit.CLEAN, ended.err
    assert check_files(tmp_path)["results"]
    lines = ended.out.splitlines()
    assert all(line.startswith(("written to ", "::error file=net.py", "::error title=")) for line in lines)
    assert "<b>" not in (tmp_path / "m.md").read_text(encoding="utf-8") and "\x1b" not in ended.out


def test_annotations_are_printed_and_the_summary_of_the_step_is_added_to(
    jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("what others wrote\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ended = jostle("export", str(campaign), "--github")
    assert ended.code == Exit.CLEAN and all(line.startswith("::error ") for line in ended.out.splitlines())
    before, _, added = summary.read_text(encoding="utf-8").partition("## Jostle: ")
    assert before == "what others wrote\n" and "| defect | kind |" in added
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert jostle("export", str(campaign), "--github").out == ended.out


def test_a_link_in_the_folder_is_not_followed(jostle: Run, campaign: Path, tmp_path: Path) -> None:
    first = min((campaign / "findings").iterdir())
    (tmp_path / "secret.json").write_text((first / "finding.json").read_text())
    (first / "finding.json").unlink()
    (first / "finding.json").symlink_to(tmp_path / "secret.json")
    ended = export(jostle, campaign, tmp_path)
    assert ended.code == Exit.CLEAN and ended.err == "1 finding cannot be read and left out.\n"
    assert "left out" in (tmp_path / "m.md").read_text(encoding="utf-8")


def test_an_export_is_the_baseline_of_the_next_and_one_defect_more_fails_it(
    jostle: Run, campaign: Path, tmp_path: Path
) -> None:
    told = jostle("export", str(campaign), "--json")
    assert told.code == Exit.CLEAN and told.json()["fails"] == []
    for command in ("export", "triage"):
        (tmp_path / "baseline.json").write_text(jostle(command, str(campaign), "--json").out)
        ended = jostle("export", str(campaign), "--fail-if-more-than", str(tmp_path / "baseline.json"))
        assert (ended.code, ended.err) == (Exit.CLEAN, "")
    less = told.json()
    kinds = [one["kind"] for one in less["defects"]]
    less["defects"] = [one for one in less["defects"] if one["kind"] != "agree"]
    (tmp_path / "baseline.json").write_text(json.dumps(less))
    ended = jostle("export", str(campaign), "--fail-if-more-than", str(tmp_path / "baseline.json"))
    agree = kinds.count("agree")
    assert ended.code == Exit.FINDINGS and agree
    assert ended.err == f"fails: {agree} defect{'s' * (agree > 1)} of kind agree, and 0 let pass\n"
    pair = ("--fail-if-more-than", str(tmp_path / "baseline.json"), "--json")
    failing = jostle("export", str(campaign), *pair, "--fail-on", "agree,nan")
    assert failing.code == Exit.FINDINGS
    assert failing.json()["fails"] == [{"kind": "agree", "defects": agree, "allowed": 0}]
    assert jostle("export", str(campaign), *pair, "--fail-on", "nan,flip").code == Exit.CLEAN


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "nothing to export: give --junit FILE"),
        (("--github", "--json"), "leave one of them out"),
        (("--junit", "gone/junit.xml"), "there is no folder gone"),
        (("--sarif", "."), "--sarif . is a folder"),
        (("--junit", "a.xml", "--sarif", "a.xml"), "two formats cannot go to one file"),
        (("--fail-on", "nan,flap"), "'flap' is unknown: did you mean flip?"),
        (("--fail-on", ""), "--fail-on"),
        (("--fail-if-more-than", "-1"), "give a whole number from 0 on"),
        (("--fail-if-more-than", "1.5"), "give a whole number from 0 on"),
        (("--fail-if-more-than", "gone.json"), "it does not exist"),
        (("--fail-if-more-than", "broken.json"), "--fail-if-more-than broken.json: give a number, or the file"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line_and_nothing_is_written(
    arguments: tuple[str, ...], why: str, jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text('{"defects": [')
    before = contents(tmp_path)
    ended = jostle("export", "campaign", *arguments)
    assert ended.code == Exit.USAGE and why in ended.err and len(ended.err.splitlines()) == 1
    assert contents(tmp_path) == before


def test_a_folder_without_a_campaign_is_refused(jostle: Run, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "gone"):
        ended = jostle("export", str(place), "--json")
        assert ended.code == Exit.USAGE and "holds no campaign" in ended.err and len(ended.err.splitlines()) == 1


def test_a_summary_that_cannot_be_written_is_told(
    jostle: Run, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "gone" / "summary.md"))
    ended = jostle("export", str(campaign), "--github")
    assert ended.code == Exit.USAGE and "GITHUB_STEP_SUMMARY" in ended.err


def test_fuzz_fails_on_the_kinds_that_are_named_and_passes_its_own_baseline(
    jostle: Run, in_workshop: Path, tmp_path: Path
) -> None:
    out, baseline = str(tmp_path / "out"), tmp_path / "baseline.json"
    failing = jostle(*fuzz("--out", out, "--fail-on", "nan,crash"))
    assert failing.code == Exit.FINDINGS and "fails: 1 defect of kind nan, and 0 let pass" in failing.err
    baseline.write_text(jostle("export", out, "--json").out)
    passing = jostle(*fuzz("--out", out, "--executions", "400", "--fail-if-more-than", str(baseline), "--json"))
    assert passing.code == Exit.CLEAN, passing.err
    assert passing.json()["fails"] == [] and passing.json()["findings"] == {"nan": 1}
    spent = jostle(*fuzz("--out", out, "--executions", "400", "--fail-on", "crash"))
    assert spent.code == Exit.NOTHING_RAN, "what did not run did not pass"


def test_fuzz_refuses_a_baseline_before_anything_runs(jostle: Run, in_workshop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for option, value in (("--fail-if-more-than", "gone.json"), ("--fail-on", "nam"), ("--fail-if-more-than", "-3")):
        ended = jostle(*fuzz("--out", str(out), option, value))
        assert ended.code == Exit.USAGE and option in ended.err and len(ended.err.splitlines()) == 1
    assert not out.exists()
