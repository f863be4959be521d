"""What docs/deephunter.md shows runs as shown, in its order."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "deephunter.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (jostle .*)$", PAGE, re.MULTILINE)
FINDINGS = 1


@pytest.mark.slow
def test_the_commands_run_one_after_another(tmp_path: Path) -> None:
    jostle = Path(sys.executable).with_name("jostle")
    assert [command.split()[1] for command in COMMANDS] == ["fuzz", "profile", "coverage", "evaluate", "evaluate"]
    for command in COMMANDS:
        ran = subprocess.run(
            [str(jostle), *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert ran.returncode == (FINDINGS if " fuzz " in command else 0), ran.stderr
        assert "Traceback" not in ran.stderr and ran.stdout
    assert list((tmp_path / "digits" / "findings").glob("*/picture.png"))


def test_the_script_measures(capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(script, "deephunter.md", "exec"), {})
    assert "'kmnc': {'covered': 0." in capsys.readouterr().out


def test_every_picture_is_there() -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", PAGE)
    assert len(pictures) == 2
    assert all((ROOT / "docs" / picture).is_file() for picture in pictures)
