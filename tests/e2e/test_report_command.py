"""`jostle report`, `--report` and `jostle watch` on campaigns of every kind of input, and on what is none."""

from __future__ import annotations

import re
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from running import ENVIRONMENT, JOSTLE, PATIENCE, Ended

from campaign_folders import written_campaign
from jostle.cli.terminal import Exit
from jostle.commands.report import contents_of

Run = Callable[..., Ended]
EXAMPLES = Path(__file__).parents[2] / "examples"
TEXTS = "text_classifier.py:model --seeds text_classifier.py:reviews --tokenizer text_classifier.py:words"
COLUMNS = {"age", "income", "debt", "months", "contract", "owner"}
DIGITS = ["fuzz", "jostle.zoo:lenet5", "--seeds", "ok.npz", "--oracle", "flip", "--executions", "2000"]


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return written_campaign(tmp_path / "campaign", 4)


def test_a_report_is_one_file_in_the_folder_of_the_campaign(campaign: Path, jostle: Run) -> None:
    ended = jostle("report", str(campaign))
    page = campaign / "report.html"
    assert ended.code == Exit.CLEAN and f"written to {page}" in ended.out
    assert page.read_text().startswith("<!doctype html>") and page.stat().st_size < 6e6


def test_a_report_is_written_where_it_is_wanted(campaign: Path, tmp_path: Path, jostle: Run) -> None:
    assert jostle("report", str(campaign), "--out", str(tmp_path / "page.html")).code == Exit.CLEAN
    assert (tmp_path / "page.html").exists() and not (campaign / "report.html").exists()


def test_two_campaigns_are_compared(campaign: Path, tmp_path: Path, jostle: Run) -> None:
    other = written_campaign(tmp_path / "other", 8)
    ended = jostle("report", str(campaign), str(other), "--out", str(tmp_path / "both.html"))
    assert ended.code == Exit.CLEAN and "in other only" in (tmp_path / "both.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere holds no campaign"),
        (["."], "holds no campaign"),
        (["campaign", "nowhere"], "nowhere holds no campaign"),
        (["campaign", "campaign", "campaign"], "give at most two folders"),
        (["campaign", "--out", "nowhere/page.html"], "there is no folder nowhere"),
        (["campaign", "--out", "campaign"], "is a folder: give the name of a file"),
        (["campaign", "--classes", "nowhere.txt"], "--classes nowhere.txt"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, campaign: Path, jostle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(campaign.parent)
    ended = jostle("report", *arguments)
    assert ended.code == Exit.USAGE and message in ended.err and ended.err.count("\n") == 1


def test_a_campaign_writes_its_report_when_asked(in_workshop: Path, tmp_path: Path, jostle: Run) -> None:
    first = jostle(*DIGITS, "--out", str(tmp_path / "out"), "--report", "--json")
    page = tmp_path / "out" / "report.html"
    assert first.json()["report"] == str(page) and page.exists()
    page.unlink()
    again = jostle(*DIGITS, "--out", str(tmp_path / "out"))  # the same campaign, although it asks for no report
    assert again.code in (Exit.FINDINGS, Exit.NOTHING_RAN) and not page.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("table", "loans.py:approval --seeds loans.csv --executions 1500"),
        ("text", f"{TEXTS} --length 12 --oracle flip --executions 1500"),
        ("sound", "audio.py:model --seeds audio.py:seeds --rate 8000 --executions 1500"),
    ],
)
def test_inputs_that_are_no_images_are_shown_in_their_own_form(
    name: str, arguments: str, tmp_path: Path, jostle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    jostle("fuzz", *arguments.split(), "--out", str(tmp_path))
    best = contents_of(tmp_path).defects[0]
    if name == "table":
        assert {value.name for value in best.changes[0].values} <= {
            "age",
            "income",
            "debt",
            "months",
            "contract",
            "owner",
        }
    elif name == "text":
        assert any(edit.before != edit.after for edit in best.changes[0].edits)
    else:
        assert [sound.caption for sound in best.sounds] == ["seed", "mutant"] and best.panels[0].picture is not None
    assert jostle("report", str(tmp_path)).code == Exit.CLEAN


def test_watching_serves_the_page_until_interrupted(campaign: Path) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**ENVIRONMENT, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([JOSTLE, "watch", str(campaign)], env=environment, text=True, **pipes) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        address = re.match(r"(http://127\.0\.0\.1:\d+/\?token=\S+) ", line)
        assert address, line
        with urllib.request.urlopen(address[1], timeout=PATIENCE) as answer:
            assert b"Digit 0 taken for 1" in answer.read()
        process.send_signal(2)
        assert process.wait(PATIENCE) == Exit.CLEAN and "Traceback" not in process.stderr.read()


def test_a_port_that_is_taken_is_one_line(campaign: Path, jostle: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = jostle("watch", str(campaign), "--port", str(taken.getsockname()[1]))
    assert ended.code == Exit.USAGE and "cannot be used" in ended.err and ended.err.count("\n") == 1


def test_watching_nothing_is_one_line(tmp_path: Path, jostle: Run) -> None:
    ended = jostle("watch", str(tmp_path))
    assert ended.code == Exit.USAGE and "holds no campaign" in ended.err and ended.err.count("\n") == 1
