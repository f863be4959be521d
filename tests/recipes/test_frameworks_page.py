"""What docs/frameworks.md shows runs as shown, in its order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from jostle.frameworks.backends.all_backends import LOWERINGS
from jostle.frameworks.campaign.options import FRAMEWORKS
from jostle.options.toml_files import given_by
from soaking import only_in_soak

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")


TOML = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_options_of_the_page_are_read(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(TOML[0])
    given = given_by(FRAMEWORKS, {}, tmp_path, "frameworks")
    assert (given.get("phase"), given.get("budget")) == (("predict", "train"), 3600.0)


@only_in_soak
def test_the_commands_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jostle.cli.run_command import run_command

    monkeypatch.chdir(tmp_path)
    Path("known.toml").write_text(TOML[1])
    for command in re.findall(r"^\$ (jostle .*)$", PAGE, re.MULTILINE):
        monkeypatch.setattr("sys.argv", shlex.split(command))
        assert run_command() in (0, 1), capsys.readouterr().err
    findings = list(Path("all-run").glob("findings/*"))
    assert findings
    for folder in findings:
        assert {"finding.json", "reproduce.py", "issue.md", "reduced.json", "graph.json"} <= {
            p.name for p in folder.iterdir()
        }


def test_the_script_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(script, "frameworks.md", "exec"), {})
    assert "305 operators" in capsys.readouterr().out


def test_the_page_names_every_backend() -> None:
    cells = re.findall(r"^\| (`\w[^|]*) \|", PAGE, re.MULTILINE)
    assert set(LOWERINGS) == {name for cell in cells for name in re.findall(r"`([\w-]+)`", cell)}
