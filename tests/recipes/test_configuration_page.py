"""What docs/configuration.md shows works as shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from jostle.cli.fuzz import OTHER_TABLES
from jostle.composition.settle import FUZZ
from jostle.options.named_campaigns import named_campaigns
from soaking import only_in_soak

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (jostle .*)$", PAGE, re.MULTILINE)
(TOML,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
JOSTLE = Path(sys.executable).with_name("jostle")
CLEAN, FINDINGS = 0, 1


def ran(command: str, folder: Path, code: int) -> str:
    done = subprocess.run(
        [str(JOSTLE), *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_the_campaigns_of_the_page_are_read(tmp_path: Path) -> None:
    (tmp_path / "jostle.toml").write_text(TOML)
    given = {name: one.given(FUZZ, {}).values for name, one in named_campaigns(FUZZ, tmp_path, OTHER_TABLES).items()}
    assert given["quick"].keys() == {"model", "seeds", "range", "executions", "confirm", "out"}
    assert (given["nightly"]["budget"], given["nightly"]["twin"]) == (3600.0, ("int8",))


@only_in_soak
def test_the_commands_of_the_page_run_one_after_another(tmp_path: Path) -> None:
    first, listing, *running = COMMANDS
    assert ran(first, tmp_path, CLEAN) in PAGE
    written = tomllib.loads((tmp_path / "jostle.toml").read_text())
    shown = tomllib.loads(TOML)
    assert {name: written[name] for name in ("model", "seeds", "range")} == {
        name: shown[name] for name in ("model", "seeds", "range")
    }
    assert written["campaign"]["nightly"] == shown["campaign"]["nightly"]
    (tmp_path / "jostle.toml").write_text(TOML)
    listed = [line.rstrip() for line in ran(listing, tmp_path, CLEAN).splitlines()]
    assert "\n".join(listed) in PAGE
    assert [" ".join(command.split()[1:3]) for command in running] == ["run quick", "run nightly", "run --all"]
    for command, code in zip(running, (CLEAN, FINDINGS, FINDINGS), strict=True):  # the worst of all that ran
        ran(command, tmp_path, code)
    assert {path.name for path in (tmp_path / "jostle-runs").iterdir()} == {"quick", "nightly"}
