"""The commands that docs/inputs.md shows find what their examples plant."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
COMMANDS = re.findall(r"^\$ (jostle fuzz .*)$", (HOME / "docs" / "inputs.md").read_text(encoding="utf-8"), re.MULTILINE)
FINDINGS = 1


def test_the_page_shows_commands() -> None:
    assert COMMANDS


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_finds_something(command: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(HOME / "examples")
    jostle = Path(sys.executable).with_name("jostle")
    ran = subprocess.run(
        [str(jostle), *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == FINDINGS, ran.stderr
    assert list(tmp_path.glob("*/findings/*/change.txt"))
