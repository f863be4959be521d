"""Parts of a user's own, by FILE.py:name, as objects of a script, and from installed packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import jostle
from jostle.catalogue import CRITERIA, MUTATORS, ORACLES, SCHEDULERS, is_property
from jostle.commands.export import refuse_unknown_of
from jostle.errors import UsageError
from jostle.own_parts import Parts
from jostle.subjects import registry
from jostle.subjects.registry import KINDS
from jostle.triage.gate import GateOptions, gate_of
from jostle.zoo import lenet1, mnist_sample

EXAMPLES = Path(__file__).parents[2] / "examples" / "own_parts"
MAIN = "from jostle.cli.main import main; main()"
QUICK = {"executions": 1524, "confirm": False, "quiet": True}


ADDED = {
    "mutators": "stripes = stripes_mutator:Stripes\nbroken = nowhere:Nothing\nnoise = stripes_mutator:Stripes\n",
    "criteria": "sureness = stripes_criterion:LessSure\n",
    "oracles": "gains = stripes_oracle:NoGain\n",
    "schedulers": "turns = stripes_scheduler:InTurn\n",
}
MODELS = "\n[jostle.subjects]\nlattice = stripes_model:LATTICE\nbroken = nowhere:Nothing\n"
KIND = """
from jostle.subjects.subject import SubjectKind
LATTICE = SubjectKind("lattice", lambda path: path.suffix == ".lattice", lambda path, how: None, engines=("glass",))
"""


def package(folder: Path) -> Path:
    """An installed package that adds a part of each sort, some that cannot be imported, and one that we have."""
    for example in ("mutator", "criterion", "oracle", "scheduler"):
        (folder / f"stripes_{example}.py").write_text((EXAMPLES / f"{example}.py").read_text())
    info = folder / "stripes-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stripes\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("\n".join(f"[jostle.{group}]\n{points}" for group, points in ADDED.items()))
    return folder


def listed(folder: Path) -> dict[str, dict[str, str]]:
    path = os.pathsep.join([str(package(folder)), os.environ.get("PYTHONPATH", "")])
    (folder / "stripes_model.py").write_text(KIND)
    with (folder / "stripes-1.2.dist-info" / "entry_points.txt").open("a") as points:
        points.write(MODELS)
    call = [sys.executable, "-c", MAIN, "list", "--json"]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=True)
    parts: dict[str, dict[str, str]] = json.loads(done.stdout)
    return parts


@pytest.mark.parametrize(
    ("option", "spec"),
    [
        ("mutator", "mutator.py:Stripes"),
        ("coverage", "criterion.py:LessSure"),
        ("oracle", "oracle.py:NoGain"),
        ("scheduler", "scheduler.py:InTurn"),
    ],
)
def test_every_example_runs_and_goes_on_as_if_nothing_had_happened(option: str, spec: str, tmp_path: Path) -> None:
    how = {option: f"{EXAMPLES / spec}", **QUICK}
    whole = jostle.fuzz(lenet1(), *mnist_sample(), out=tmp_path / "whole", **how)
    jostle.fuzz(lenet1(), *mnist_sample(), out=tmp_path / "parts", **{**how, "executions": 1012})
    parts = jostle.fuzz(lenet1(), *mnist_sample(), out=tmp_path / "parts", **how)
    assert whole.summary.executions == parts.summary.executions == 1524
    assert whole.summary.findings == parts.summary.findings


def test_examples_are_short() -> None:
    assert {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}.keys() >= {"mutator.py"}
    assert all(len(path.read_text().splitlines()) < 40 for path in EXAMPLES.glob("*.py"))


def test_parts_are_objects_of_a_script_too() -> None:
    class Same:
        def mutate(self, parents: jostle.Candidates, rng: torch.Generator) -> jostle.Candidates:
            return parents.mutated(parents.inputs * 0.999, "dimmed")

    result = jostle.fuzz(lenet1(), *mnist_sample(), mutator=Same(), **QUICK)
    assert result.summary.executions == 1524


def test_a_function_that_is_no_oracle_is_a_property(tmp_path: Path) -> None:
    (tmp_path / "properties.py").write_text("def always(element):\n    return True\n")
    assert is_property(f"{tmp_path / 'properties.py'}:always")
    assert not is_property(f"{EXAMPLES / 'oracle.py'}:NoGain") and not is_property("nan")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Thing = 3", "is a int, no mutator: give it a method mutate"),
        ("class Thing:\n    pass", "makes a Thing, no mutator: give it a method mutate"),
        ("def Thing():\n    raise ValueError('no')", "raised ValueError"),
    ],
)
def test_what_is_no_part_is_refused_in_one_line(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(UsageError) as caught:
        jostle.fuzz(lenet1(), *mnist_sample(), mutator=f"{tmp_path / 'mine.py'}:Thing", **QUICK)
    assert told in str(caught.value) and "\n" not in str(caught.value)


def mine(text: str, tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(f"import torch\nfrom jostle import Verdicts\n\n\n{text}")
    return f"{tmp_path / 'mine.py'}:Mine"


JUDGE = "    def judge(self, candidates, trace):\n        "


@pytest.mark.parametrize(
    ("option", "text", "told"),
    [
        (
            "oracle",
            f"class Mine:\n{JUDGE}return 1\n",
            "no oracle: give it looks_inside (true or false) and compares_with_truth (true or false)",
        ),
        (
            "coverage",
            "class Mine:\n    def assess(self, candidates, trace):\n        return 1\n",
            "no criterion: give it a method coverage",
        ),
        (
            "oracle",
            f"class Oracle:\n    looks_inside = False\n{JUDGE}return 1\n\n\nMine = Oracle()\n",
            "is a Oracle, no oracle: give it compares_with_truth (true or false)",
        ),
    ],
)
def test_a_part_that_lacks_some_of_what_it_needs_is_told_what(
    option: str, text: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        jostle.fuzz(lenet1(), *mnist_sample(), **{option: mine(text, tmp_path), **QUICK})
    assert told in str(caught.value) and "\n" not in str(caught.value)


WHOLE = f"class Mine:\n    looks_inside = compares_with_truth = False\n\n{JUDGE}"
MUTATE = "class Mine:\n    def mutate(self, parents, rng):\n        "
DESCRIBED = "bugs = torch.ones(len(candidates)).long()\n        return Verdicts('own', bugs, lambda row: {}['gone'])\n"


@pytest.mark.parametrize(
    ("option", "text", "told"),
    [
        (
            "mutator",
            f"{MUTATE}return parents.mutated(torch.ones(3), 1, 2)\n",
            "mine.py:Mine: mutate raised TypeError in mine.py:7: ",
        ),
        (
            "mutator",
            f"{MUTATE}return None\n",
            "mine.py:Mine: mutate returned a NoneType, and must return a Candidates",
        ),
        (
            "coverage",
            "class Mine:\n    def assess(self, candidates, trace):\n        return torch.zeros(len(candidates))\n\n"
            "    def coverage(self):\n        return 1 / 0\n",
            "mine.py:Mine: coverage raised ZeroDivisionError in mine.py:10: division by zero",
        ),
        ("oracle", f"{WHOLE}raise ValueError('odd')\n", "mine.py:Mine: judge raised ValueError in mine.py:9: odd"),
        ("oracle", f"{WHOLE}{DESCRIBED}", "mine.py:Mine: describe raised KeyError in mine.py:10: 'gone'"),
        (
            "scheduler",
            "class Mine:\n    def plan(self, entries, children, rng):\n        raise SystemExit\n",
            "mine.py:Mine: plan raised SystemExit in mine.py:7; mend it",
        ),
        (
            "mutator",
            f"{MUTATE}return parents.mutated(parents.inputs[:, :, :9], 'cut')\n",
            "mine.py:Mine: mutate returned inputs of shape [256, 1, 9, 28], and must return [256, 1, 28, 28]; mend it",
        ),
        (
            "mutator",
            f"{MUTATE}return parents.mutated(parents.inputs[:3], 'few')\n",
            "mine.py:Mine: mutate returned inputs of shape [3, 1, 28, 28], and must return [256, 1, 28, 28]; mend it",
        ),
        (
            "mutator",
            f"{MUTATE}return __import__('dataclasses').replace(parents, mutations=tuple(parents.mutations))\n",
            "mine.py:Mine: mutate returned a tuple of mutations, and must return what parents.mutated(",
        ),
        (
            "mutator",
            f"{MUTATE}return parents.mutated(parents.inputs - 9, 'far')\n",
            "mine.py:Mine: mutate returned an input outside of its domain (a value is -9, not between 0 and 1)",
        ),
        (
            "coverage",
            "class Mine:\n    def assess(self, candidates, trace):\n        return torch.zeros(3)\n\n"
            "    def coverage(self):\n        return {}\n",
            "mine.py:Mine: assess returned [3] gains for 32 inputs; mend it",
        ),
        (
            "scheduler",
            "class Mine:\n    def plan(self, entries, children, rng):\n        return torch.full((9,), entries)\n",
            "mine.py:Mine: plan returned ids that are not all whole numbers from 0 to ",
        ),
    ],
)
def test_what_an_own_part_raises_or_returns_that_cannot_be_is_one_line_that_names_it(
    option: str, text: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        jostle.fuzz(lenet1(), *mnist_sample(), **{option: mine(text, tmp_path), **QUICK})
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_what_was_found_before_an_own_part_failed_stays_saved(tmp_path: Path) -> None:
    class Failing:
        """Learns too, as the loop must see through what stands around it."""

        lessons = 0

        def mutate(self, parents: jostle.Candidates, rng: torch.Generator) -> jostle.Candidates:
            if self.lessons == 4:
                raise ValueError("spent")
            return parents.mutated(parents.inputs * torch.rand(len(parents), 1, 1, 1, generator=rng), "dimmed")

        def learn(self, lesson: object) -> None:
            self.lessons += 1

    images, labels = mnist_sample()
    how = {"oracle": "flip", "out": tmp_path / "run", "confirm": False, "minimise": False, "quiet": True, "batch": 50}
    with pytest.raises(UsageError, match=r"Failing: mutate raised ValueError in test_own_parts\.py:\d+: spent"):
        jostle.fuzz(lenet1(), images[:50], labels[:50], mutator=Failing, **how)
    found = sorted(path.name for path in (tmp_path / "run" / "findings").iterdir())
    again = jostle.fuzz(lenet1(), images[:50], labels[:50], mutator=Failing, executions=150, **how)
    assert found and sum(again.summary.findings.values()) >= len(found)


def test_packages_add_parts_which_are_listed_with_where_they_come_from(tmp_path: Path) -> None:
    parts = listed(tmp_path)
    mutators = parts["mutator"]
    assert mutators["stripes"] == "Brightens some rows of each image. (from stripes 1.2)"
    assert "cannot be imported" in mutators["broken"] and "(from stripes 1.2)" in mutators["broken"]
    assert mutators["noise"] == MUTATORS.ours["noise"].line
    for kind, name in (("coverage", "sureness"), ("oracle", "gains"), ("scheduler", "turns")):
        assert parts[kind][name].endswith(" (from stripes 1.2)")
    assert parts["model"]["lattice"] == "files, run by glass (from stripes 1.2)"
    assert "gives no SubjectKind (ModuleNotFoundError" in parts["model"]["broken"]
    assert {kind.name for kind in KINDS} <= parts["model"].keys()


def test_a_part_of_a_package_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(package(tmp_path)))
    monkeypatch.delitem(MUTATORS.__dict__, "added", raising=False)
    try:
        result = jostle.fuzz(lenet1(), *mnist_sample(), mutator="stripes,noise", **QUICK)
        assert result.summary.executions == 1524
        with pytest.raises(UsageError, match=r"mutator broken of stripes 1\.2 cannot be imported"):
            jostle.fuzz(lenet1(), *mnist_sample(), mutator="broken", **QUICK)
    finally:
        MUTATORS.__dict__.pop("added", None)


@pytest.mark.parametrize(
    ("option", "name", "parts"),
    [("coverage", "sureness", CRITERIA), ("oracle", "gains", ORACLES), ("scheduler", "turns", SCHEDULERS)],
)
def test_criteria_oracles_and_schedulers_of_a_package_can_be_named(
    option: str, name: str, parts: Parts[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=f"'{name}' is unknown"):
        jostle.fuzz(lenet1(), *mnist_sample(), **{option: name, **QUICK})
    monkeypatch.syspath_prepend(str(package(tmp_path)))
    monkeypatch.delitem(parts.__dict__, "added", raising=False)
    example = {"coverage": "criterion.py:LessSure", "oracle": "oracle.py:NoGain", "scheduler": "scheduler.py:InTurn"}
    try:
        result = jostle.fuzz(lenet1(), *mnist_sample(), **{option: name, **QUICK})
        same = jostle.fuzz(lenet1(), *mnist_sample(), **{option: str(EXAMPLES / example[option]), **QUICK})
        assert result.summary.executions == 1524 and result.summary.findings == same.summary.findings
        if option != "oracle":  # whose form decides the default radius of noise
            assert result.summary.coverage == same.summary.coverage
    finally:
        parts.__dict__.pop("added", None)


def test_the_example_of_a_model_runs_in_a_campaign() -> None:
    images = mnist_sample()[0]
    result = jostle.fuzz(f"{EXAMPLES / 'subject.py'}:classify", images, oracle="nan", **QUICK)
    assert result.summary.executions == 1524 and not result.summary.findings


def test_a_kind_of_model_of_a_package_is_fuzzed_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "linear_models.py").write_text((EXAMPLES / "kind.py").read_text())
    info = tmp_path / "linear_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: linear-models\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[jostle.subjects]\nlinear = linear_models:LINEAR\n")
    weights = np.random.default_rng(0).normal(size=(784, 10)).astype(np.float32)
    with (tmp_path / "digits.linear").open("wb") as file:
        np.save(file, weights)
    (tmp_path / "broken.linear").write_text("nothing")
    with pytest.raises(UsageError, match="is no format that can be fuzzed"):
        registry.load(str(tmp_path / "digits.linear"))
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._added.cache_clear()
    try:
        subject = registry.load(str(tmp_path / "digits.linear"))
        images = mnist_sample()[0][:40]
        same = torch.from_numpy(images.reshape(40, -1).numpy() @ weights)
        assert torch.allclose(subject.target().predict(images), same, atol=1e-4)
        how = {"executions": 300, "confirm": False, "quiet": True}
        result = jostle.fuzz(tmp_path / "digits.linear", images, oracle="flip", **how)
        assert result.summary.executions == 300 and result.defects
        with pytest.raises(UsageError, match=r"^\S*broken\.linear is no linear model"):
            jostle.fuzz(tmp_path / "broken.linear", images, **how)
    finally:
        registry._added.cache_clear()


def test_the_kind_of_an_own_oracle_can_fail_an_export(tmp_path: Path) -> None:
    how = {"oracle": f"{EXAMPLES / 'oracle.py'}:NoGain", **QUICK}
    found = jostle.fuzz(lenet1(), *mnist_sample(), out=tmp_path / "own", **how)
    asked = GateOptions(("gain",))
    refuse_unknown_of(found.folder, found.triaged, asked)
    gate = gate_of(asked)
    assert gate is not None and [one.kind for one in gate.excesses(found.defects)] == ["gain"]
    other = jostle.fuzz(lenet1(), *mnist_sample(), out=tmp_path / "ours", **{**how, "oracle": "nan"})
    with pytest.raises(UsageError, match=r"--fail-on 'gain' is unknown"):
        refuse_unknown_of(other.folder, other.triaged, asked)


def test_our_names_are_ours() -> None:
    assert set(ORACLES) >= {"nan", "crash"} and "adaptive" in SCHEDULERS and "nonsense" not in MUTATORS
