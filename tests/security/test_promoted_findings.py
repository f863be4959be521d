"""Tests run what a promoted case names, so that a stranger's Python must not get into one unasked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import jostle
from fuzzed_suites import NET
from jostle.commands.promote import promote
from jostle.errors import UsageError

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


def rewrite(sent: Path, ran: Path, **settings: object) -> None:
    record = json.loads((sent / "campaign.json").read_text())
    record["origin"]["working folder"] = str(ran)
    (sent / "campaign.json").write_text(json.dumps({**record, **settings, "files": {}}))


@pytest.mark.parametrize("option", ["model", "metadata", "tokenizer"])
@pytest.mark.parametrize("spelled", ["sent/evil.py:build", "{sent}/evil.py:build"])
def test_code_that_came_with_a_finding_is_not_promoted_unasked(sent: Path, option: str, spelled: str) -> None:
    rewrite(sent, sent.parent, **{option: spelled.format(sent=sent)})
    with pytest.raises(UsageError, match=r"may have come with the finding in .* add --trust-model"):
        promote(sent, sent.parent / "cases")
    assert not (sent.parent / "cases").exists() and not (sent / "fired").exists()
    if option == "model":
        promote(sent, sent.parent / "own", model="net.py:build")
    else:
        with pytest.raises(UsageError, match="may have come with the finding"):
            promote(sent, sent.parent / "own", model="net.py:build")
    promote(sent, sent.parent / "trusted", trust_model=True)
    assert not (sent / "fired").exists(), "promoting runs nothing"


def test_names_of_a_campaign_that_ran_elsewhere_are_not_promoted_unasked(sent: Path) -> None:
    rewrite(sent, sent.parent / "gone")
    with pytest.raises(UsageError, match="may have come with the finding"):
        promote(sent, sent.parent / "cases")
    promote(sent, sent.parent / "cases", model="net.py:build")
