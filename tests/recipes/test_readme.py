"""What the README shows runs as shown."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from jostle import Element, Property, Seeds, TorchTarget
from jostle.composition.settle import FUZZ
from jostle.options.toml_files import given_by
from jostle.zoo import lenet5, mnist_sample

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (jostle fuzz .*)$", README, re.MULTILINE)


def block(language: str, number: int = -1) -> str:
    return str(re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[number])


def test_the_readme_shows_the_five_examples():
    assert len(COMMANDS) == 5


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[2])
def test_each_example_finds_its_bug(command: str, tmp_path: Path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    jostle = Path(sys.executable).with_name("jostle")
    ran = subprocess.run(
        [str(jostle), *shlex.split(command)[1:], "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 1, ran.stderr
    told = json.loads(ran.stdout)
    (kind,) = told["findings"]
    assert told["findings"][kind] == 1
    (finding,) = (tmp_path / told["out"] / "findings").glob("*/finding.json")
    assert json.loads(finding.read_text())["kind"] == kind


@pytest.mark.parametrize(("number", "executions"), [(-2, 2000), (-1, 5000)])
def test_the_scripts_run(number: int, executions: int, capsys: pytest.CaptureFixture[str]):
    exec(compile(block("python", number), "README.md", "exec"), {})
    assert f"'executions': {executions}" in capsys.readouterr().out


def test_the_predicates_agree_on_real_answers():
    predicates: dict[str, Callable[[Element], Any]] = {}
    exec(compile(block("python", 0), "README.md", "exec"), predicates)
    images, labels = mnist_sample()
    seeds = Seeds(images, labels.roll(1), ("",) * len(labels)).as_candidates()  # mostly wrong labels
    trace = TorchTarget(lenet5()).run(seeds)
    one, many = (
        Property(name, predicates[name]).judge(seeds, trace).bugs >= 0
        for name in ("overconfident", "overconfident_batch")
    )
    assert torch.equal(one, many) and one.any() and not one.all()


def test_the_configuration_is_read(tmp_path: Path):
    (tmp_path / "jostle.toml").write_text(block("toml"))
    given = given_by(FUZZ, {}, tmp_path)
    assert tuple(given.get(name) for name in ("model", "oracle", "budget")) == (
        "models.py:classifier",
        ("nan", "flip"),
        600.0,
    )
