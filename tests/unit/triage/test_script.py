"""Scripts of defects fail while the defect is there and pass once it is mended, for every way to load a model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jostle.lineage import Mutation
from jostle.storage.campaign_record import CampaignRecord, Origin
from jostle.storage.finding_record import FindingRecord, InputType
from jostle.triage import script_code as code
from jostle.triage.script import Script
from jostle.zoo import lenet1, mnist_sample
from model_files import write_keras, write_onnx, write_openvino

BOTH = """
import runpy, sys
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="__main__")
        print("PASSED")
    except BaseException as error:
        print("FAILED", type(error).__name__, ascii(str(error)))
"""
NETS = """
import numpy as np
import torch
from jostle.zoo import lenet1


def net():
    return lenet1()


def answers(images: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return lenet1()(torch.from_numpy(images)).numpy()


class Dividing(torch.nn.Module):
    def __init__(self, zero):
        super().__init__()
        self.divide, self.zero = torch.nn.Identity(), zero

    def forward(self, x):
        return torch.nan_to_num(self.divide(x.flatten(1) / (0.0 if self.zero else 1.0)))


def broken():
    return Dividing(True)


def mended():
    return Dividing(False)


def failing(x):
    raise ArithmeticError("no")
"""
RECORD = FindingRecord(
    *(InputType.ARRAY, "flip", "a label became another", "flip:0:1:2", True, 1, 1, 1, "a seed", 0, -1),
    mutation=Mutation(("noise",)),
    largest_change=0.5,
    details={},
)


def written(folder: Path, name: str, record: FindingRecord, settings: Mapping[str, Any], task: str = "classes") -> Path:
    """A script with the array beside it."""
    campaign = CampaignRecord(settings, origin=Origin(str(folder), task))
    text = Script(record, campaign, 'a """title""" \\ that {is} "hostile"\n# code', "input.npy").text
    assert text is not None
    (folder / name).mkdir()
    np.save(folder / name / "input.npy", np.asarray(digit()[0][0]))
    (folder / name / "reproduce.py").write_text(text)
    return folder / name / "reproduce.py"


def digit() -> tuple[Tensor, int]:
    """A digit, and what LeNet-1 says of it."""
    images, _ = mnist_sample()
    with torch.no_grad():
        return images[:1], int(lenet1()(images[:1]).argmax())


def ran(*scripts: Path, **environment: str) -> list[str]:
    """How each script ended, all of them in one new process."""
    call = [sys.executable, "-c", BOTH, *map(str, scripts)]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ, **environment})
    return [line for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED"))]


def python(folder: Path) -> dict[str, Any]:
    return {"model": "nets.py:net"}


def function(folder: Path) -> dict[str, Any]:
    return {"model": "nets.py:answers"}


def exported(folder: Path) -> dict[str, Any]:
    torch.export.save(torch.export.export(lenet1().eval(), (digit()[0],)), folder / "net.pt2")
    return {"model": "net.pt2"}


def scripted(folder: Path) -> dict[str, Any]:
    torch.jit.trace(lenet1().eval(), digit()[0]).save(str(folder / "net.pt"))
    return {"model": "net.pt", "trust_model": True}


def onnx(folder: Path) -> dict[str, Any]:
    write_onnx(lenet1(), digit()[0].repeat(2, 1, 1, 1), folder / "net.onnx")
    return {"model": "net.onnx"}


def on_openvino(folder: Path) -> dict[str, Any]:
    return {**onnx(folder), "engine": "openvino"}


def openvino(folder: Path) -> dict[str, Any]:
    onnx(folder)
    write_openvino(folder / "net.onnx", folder / "net.xml")
    return {"model": "net.xml"}


def keras(folder: Path) -> dict[str, Any]:
    write_keras(lenet1(), folder / "net.keras")
    return {"model": "net.keras", "layout": "nhwc"}


def litert(folder: Path) -> dict[str, Any]:
    from model_files import as_keras

    as_keras(lenet1()).export(folder / "net.tflite", format="litert")
    return {"model": "net.tflite", "layout": "nhwc"}


SLOW = pytest.mark.slow
WAYS = [
    *(python, function, exported, scripted, onnx, on_openvino),
    *(pytest.param(way, marks=SLOW) for way in (openvino, keras, litert)),
]


@pytest.mark.parametrize("way", WAYS)
def test_a_script_fails_while_the_label_is_wrong_and_passes_when_it_is_right(
    way: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    settings, said = way(tmp_path), digit()[1]
    wrong, right = (
        written(tmp_path, name, replace(RECORD, details={"label": label, "taken for": said}), settings)
        for name, label in (("wrong", (said + 1) % 10), ("right", said))
    )
    assert not re.search("(from|import) jostle", wrong.read_text())
    trust = {"JOSTLE_TRUST_MODEL": "1"} if settings.get("trust_model") else {}
    first, second = ran(wrong, right, **trust)
    assert first.startswith("FAILED AssertionError") and f"says {said}" in first
    assert second == "PASSED"


def test_a_layer_that_is_not_finite_fails_though_the_answer_is_finite(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    record = replace(RECORD, kind="nan", fingerprint="nan:nan:divide", details={"place": "divide", "value": "NaN"})
    scripts = [written(tmp_path, name, record, {"model": f"nets.py:{name}"}) for name in ("broken", "mended")]
    first, second = ran(*scripts)
    assert first.startswith("FAILED AssertionError") and "divide" in first
    assert second == "PASSED"


def test_a_model_that_fails_fails_its_script(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    record = replace(RECORD, kind="crash", fingerprint="crash:ArithmeticError:nets.py:failing", details={})
    scripts = [written(tmp_path, name, record, {"model": f"nets.py:{name}"}) for name in ("failing", "mended")]
    assert [line.split()[0] for line in ran(*scripts)] == ["FAILED", "PASSED"]


def pickled(folder: Path, **how: Any) -> dict[str, Any]:
    """A pickle of a module whose class stands beside it."""
    (folder / "parts.py").write_text("import torch\n\n\nclass Net(torch.nn.Flatten):\n    pass\n")
    sys.path.insert(0, str(folder))
    try:
        sys.modules.pop("parts", None)
        torch.save(__import__("parts").Net(), folder / "net.pt", **how)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("parts", None)
    return {"model": "net.pt", "trust_model": True}


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_runs_only_for_whoever_trusts_it_now(zipped: bool, tmp_path: Path) -> None:
    settings = pickled(tmp_path, _use_new_zipfile_serialization=zipped)
    brightest = int(digit()[0].flatten().argmax())
    record = replace(RECORD, details={"label": brightest, "taken for": 3})
    script = written(tmp_path, "right", record, settings)
    (refused,) = ran(script)
    assert refused.startswith("FAILED SystemExit") and "--trust-model" in refused
    assert ran(script, JOSTLE_TRUST_MODEL="1") == ["PASSED"]
    call = [sys.executable, str(script), "--trust-model"]
    assert subprocess.run(call, capture_output=True, cwd=tmp_path.parent).returncode == 0


@pytest.mark.parametrize("kind", ["property", "flip"])
def test_that_the_campaign_trusted_its_model_does_not_count(kind: str) -> None:
    texts = [
        Script(
            replace(RECORD, kind=kind), CampaignRecord({"model": "net.keras", "trust_model": trusted}), "a", "b"
        ).text
        for trusted in (True, False)
    ]
    assert texts[0] == texts[1] and texts[0] is not None


def test_a_model_that_was_moved_is_found_above_its_script_or_where_it_is_said_to_be(tmp_path: Path) -> None:
    record = replace(RECORD, details={"label": digit()[1], "taken for": 3})
    there, here, elsewhere = (tmp_path / name for name in ("there", "here", "elsewhere"))
    there.mkdir()
    (there / "nets.py").write_text(NETS)
    written(there, "defect", record, {"model": "nets.py:net"})
    there.rename(here)
    script = here / "defect" / "reproduce.py"
    assert ran(script) == ["PASSED"]
    elsewhere.mkdir()
    (here / "nets.py").rename(elsewhere / "nets.py")
    assert ran(script)[0].startswith("FAILED FileNotFoundError")
    assert ran(script, JOSTLE_MODEL_FOLDER=str(elsewhere)) == ["PASSED"]


def test_a_layer_that_is_not_there_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    record = replace(RECORD, kind="nan", fingerprint="nan:nan:gone", details={"place": "gone", "value": "NaN"})
    (line,) = ran(written(tmp_path, "gone", record, {"model": "nets.py:mended"}))
    assert line.startswith("FAILED AssertionError") and "no layer gone" in line
    other = replace(record, details={"place": "output of the twin", "value": "NaN"})
    assert "import replay" in written(tmp_path, "other", other, {"model": "nets.py:mended"}).read_text()


def test_a_model_that_never_ends_is_waited_for_as_long_as_in_the_campaign(tmp_path: Path) -> None:
    crash = replace(RECORD, kind="crash", fingerprint="crash:Timeout:model", details={"error": "Timeout"})
    settings = {"model": "nets.py:net", "timeout": 7.5}
    assert "PATIENCE = 7.5\n" in written(tmp_path, "hangs", crash, settings).read_text()
    memory = replace(crash, details={"error": "MemoryLimit"})
    assert "import replay" in written(tmp_path, "grows", memory, settings).read_text()


def test_two_models_are_compared_without_jostle(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    scores = {"model": [1.0, 0.0], "twin": [0.0, 1.0], "margins": [1.0, 1.0]}
    record = replace(RECORD, kind="agree", fingerprint="agree:top1:0:0:1", details=scores)
    scripts = [
        written(tmp_path, twin, record, {"model": "nets.py:net", "twin": [f"nets.py:{twin}"]})
        for twin in ("mended", "answers")
    ]
    first, second = ran(*scripts)
    assert first.startswith("FAILED AssertionError") and second == "PASSED"


def test_a_script_is_a_test_that_pytest_takes(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    record = replace(RECORD, details={"label": digit()[1], "taken for": 3})
    script = written(tmp_path, "right", record, {"model": "nets.py:net"})
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", str(script)], capture_output=True, text=True)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("kind", ["agree int8", "property", "masks"])
def test_what_only_jostle_can_judge_is_replayed(kind: str, tmp_path: Path) -> None:
    record = replace(RECORD, kind=kind, fingerprint=f"{kind}:x")
    script = written(tmp_path, "other", record, {"model": "nets.py:net", "twin": ["int8", "float16"]})
    assert "from jostle.commands.replay import replay" in script.read_text()


@pytest.mark.parametrize("option", ["oracle", "models", "metadata", "tokenizer"])
def test_what_needs_an_object_of_a_script_to_be_judged_has_none(option: str) -> None:
    record = replace(RECORD, kind="property", fingerprint="property:large")
    settings = {"model": "nets.py:net", option: "jostle.held:large" if option != "models" else ["jostle.held:large"]}
    assert Script(record, CampaignRecord(settings), "a title", "input.npy").text is None


def test_what_is_judged_without_an_object_beside_it_has_a_script(tmp_path: Path) -> None:
    record = replace(RECORD, details={"label": 1, "taken for": 3})
    script = written(tmp_path, "flip", record, {"model": "nets.py:net", "oracle": ["flip", "jostle.held:large"]})
    assert "jostle" not in script.read_text()


def test_a_gradient_that_is_not_finite_has_no_script() -> None:
    record = replace(RECORD, mutation=Mutation.parsed("gradient not finite"))
    assert Script(record, CampaignRecord({"model": "a.py:b"}), "a title", "input.npy").text is None


def test_the_only_output_of_a_model_has_no_empty_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "input.npy", np.zeros(2))
    outputs = {"": np.array([1.0, np.nan]), "loss": np.zeros(1)}
    script: dict[str, Any] = {"np": np, "HERE": tmp_path, "ARRAY": "input.npy", "MODEL": "m", "WHAT": "it is wrong"}
    script["load"] = lambda name: lambda inputs: outputs
    exec(code.NOT_FINITE, script)
    with pytest.raises(AssertionError, match=r"it is wrong: NaN or infinity in output$"):
        script["test_everything_is_finite"]()
    assert [line.partition("[")[0] for line in capsys.readouterr().out.splitlines()] == [
        "output holds ",
        "output loss holds ",
    ]
