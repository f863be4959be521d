"""What the pages in docs/ show runs as shown, in its order."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from soaking import times

DOCS = Path(__file__).parents[2] / "docs"
FINDINGS = 1
FINISHING = ("--finishing", "3s", "--no-confirm")  # what finishing does in full is shown by the page on it


@dataclass(frozen=True)
class Page:
    """A page with commands and a script."""

    name: str
    commands: tuple[str, ...]
    pictures: int
    printed: str  # by the script

    @property
    def text(self) -> str:
        return (DOCS / self.name).read_text(encoding="utf-8")


PAGES = [
    Page("deephunter.md", ("fuzz", "profile", "coverage", "evaluate", "evaluate"), 3, "'kmnc': {'covered': 0."),
    Page("campaigns.md", ("fuzz", "status", "cmin", "fuzz"), 0, "'journal.jsonl', 'lock', 'quarantine', 'status.json'"),
    Page("dlfuzz.md", ("fuzz", "fuzz", "fuzz", "retrain", "export-tests"), 1, "{'flip': "),
    Page("inputs.md", ("fuzz",) * 6, 0, "{'nan': 1}"),
    Page("twins.md", ("fuzz", "fuzz"), 0, "'agree int8': "),
    Page("report.md", ("fuzz", "report", "fuzz", "report"), 1, "report.html <!doctype html>"),
    Page("triage.md", ("fuzz", "triage"), 0, " taken for "),
    Page("finishing.md", ("fuzz", "tmin", "cmin"), 0, "['brightness 0.2'] 0.2"),
    Page("tasks.md", ("fuzz", "fuzz", "fuzz", "fuzz", "fuzz"), 0, "{'property': 1}"),
]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("page", PAGES[times(3, 0) :: times(3, 1)], ids=lambda page: page.name)
def test_the_commands_run_one_after_another(page: Page, tmp_path: Path) -> None:
    jostle = Path(sys.executable).with_name("jostle")
    (tmp_path / "examples").symlink_to(DOCS.parent / "examples")
    commands = re.findall(r"^\$ (jostle .*)$", page.text, re.MULTILINE)
    assert tuple(command.split()[1] for command in commands) == page.commands
    for command in commands:
        arguments = [
            *shlex.split(command)[1:],
            *(FINISHING if " fuzz " in command and "--finishing" not in command else ()),
        ]
        ran = subprocess.run([str(jostle), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert ran.returncode == (FINDINGS if " fuzz " in command else 0), ran.stderr
        assert "Traceback" not in ran.stderr and ran.stdout
    assert list(tmp_path.glob("*/findings/*/picture.png"))


@pages
def test_the_script_runs(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = re.findall(r"^```python\n(.*?)^```", page.text, re.MULTILINE | re.DOTALL)
    exec(compile(script, page.name, "exec"), {})
    assert page.printed in capsys.readouterr().out


@pages
def test_every_picture_is_there(page: Page) -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", page.text)
    assert len(pictures) == page.pictures
    assert all((DOCS / picture).is_file() for picture in pictures)
