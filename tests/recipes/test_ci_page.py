"""The workflows of docs/ci.md are YAML, keep what they cache, and their shell lines do what the page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from jostle.triage.kinds import KINDS
from soaking import only_in_soak

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
GITHUB, GITLAB, PRE_COMMIT = (
    yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)
MODELS = """
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        scores = torch.stack([x.mean((1, 2, 3)) + 5, x.amax((1, 2, 3))], 1)
        return scores * (1 + torch.exp(1e5 * (x[:, 0, 0, :1] - {edge})))


def net():
    return Net()
"""
EDGE, NO_EDGE = "0.81", "9.0"  # above which the answer is infinite
PATIENCE = 600  # seconds


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "models.py").write_text(MODELS.format(edge=EDGE))
    (tmp_path / "jostle-baseline.json").write_text('{"defects": []}')
    seeds = np.random.default_rng(0).random((20, 1, 6, 6)).astype(np.float32) * 0.8
    np.savez(tmp_path / "seeds.npz", x=seeds, y=np.zeros(20, np.int64))
    return tmp_path


def shell(lines: str, project: Path) -> Ran:
    """Runs lines as runners do, with less time to fuzz."""
    lines = lines.replace("spent + 120", "spent + 3").replace("--budget 20s", "--budget 3s")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(project / "summary.md"), "COLUMNS": "200"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", lines]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def steps() -> dict[str, dict[str, Any]]:
    return {step.get("name", step.get("uses")): step for step in GITHUB["jobs"]["jostle"]["steps"]}


def fuzz_command(lines: str) -> list[str]:
    (line,) = re.findall(r"^\s*(jostle fuzz .*?) \|\|", lines, re.MULTILINE)
    return shlex.split(line)


def seconds(project: Path) -> float:
    return float(json.loads((project / "campaign" / "status.json").read_text())["seconds"])


def test_what_is_cached_is_the_folder_of_the_campaign_under_a_key_of_what_it_is_made_of() -> None:
    fuzz = fuzz_command(steps()["Fuzz for two minutes more"]["run"])
    folder, seeds, model = fuzz[fuzz.index("--out") + 1], fuzz[fuzz.index("--seeds") + 1], fuzz[2].partition(":")[0]
    restored, saved = (steps()[name]["with"] for name in ("Get the campaign of this model", "Keep the campaign"))
    assert restored["path"] == saved["path"] == folder and restored["key"] == saved["key"]
    assert saved["key"] == restored["restore-keys"] + "${{ github.run_id }}"
    assert f"'{model}'" in saved["key"] and f"'{seeds}'" in saved["key"]
    cache = GITLAB["fuzz"]["cache"]
    assert cache["paths"] == [folder] and cache["key"]["files"] == [model, seeds]
    assert re.fullmatch(PRE_COMMIT["repos"][0]["hooks"][0]["files"], model)


def test_files_that_are_written_are_those_that_are_handed_on() -> None:
    told = shlex.split(steps()["Tell and decide"]["run"])
    shown = steps()["Show in code scanning"]
    assert told[told.index("--sarif") + 1] == shown["with"]["sarif_file"]
    assert shown["if"] == "always() && hashFiles('jostle.sarif') != '' && !github.event.pull_request.head.repo.fork"
    told, artifacts = shlex.split(GITLAB["fuzz"]["script"][-1]), GITLAB["fuzz"]["artifacts"]
    assert told[told.index("--junit") + 1] == artifacts["reports"]["junit"]
    assert told[told.index("--markdown") + 1] in artifacts["paths"]


def test_the_page_names_every_kind() -> None:
    assert all(f"`{kind}`" in PAGE for kind in KINDS)


@only_in_soak
def test_the_lines_of_github_fuzz_go_on_the_next_time_and_fail_for_what_is_new(project: Path) -> None:
    fuzz, tell = (steps()[name]["run"] for name in ("Fuzz for two minutes more", "Tell and decide"))
    first = shell(fuzz, project)
    assert first.code == 0 and "nan" in first.out, first.err
    before = seconds(project)
    told = shell(tell, project)
    assert told.code == 1 and "fails: 1 defect of kind nan, and 0 let pass" in told.err
    assert any(line.startswith("::error file=models.py,line=1,title=nan") for line in told.out.splitlines())
    assert json.loads((project / "jostle.sarif").read_text())["runs"][0]["results"]
    assert "| nan |" in (project / "summary.md").read_text()
    (project / "jostle-baseline.json").write_text('{"defects": [{"kind": "nan"}]}')
    assert shell(fuzz, project).code == 0 and seconds(project) > before + 1
    assert shell(tell, project).code == 0, "the baseline knows it"


@pytest.mark.slow
def test_the_lines_of_gitlab_pass_for_a_model_without_defects(project: Path) -> None:
    (project / "models.py").write_text(MODELS.format(edge=NO_EDGE))
    ran = shell("\n".join(GITLAB["fuzz"]["script"]), project)
    assert ran.code == 0, ran.err
    (test,) = ElementTree.parse(project / "jostle.xml").iter("testcase")
    assert test.get("name") == "no defects" and not list(test)
    assert (project / "jostle.md").read_text(encoding="utf-8").startswith("## Jostle: no defects in models")


@only_in_soak
def test_the_hook_of_pre_commit_fails_for_a_defect_and_lets_pass_what_was_fuzzed_before(project: Path) -> None:
    entry = PRE_COMMIT["repos"][0]["hooks"][0]["entry"]
    ran = shell(entry, project)
    assert ran.code == 1 and "fails: 1 defect of kind nan" in ran.err, ran.err
    (project / "models.py").write_text(MODELS.format(edge=NO_EDGE))
    assert shell(entry, project).code == 0
    assert shell(entry, project).code == 0, "nothing ran, and nothing fails"
    assert len(list((project / "jostle-runs").iterdir())) == 2
