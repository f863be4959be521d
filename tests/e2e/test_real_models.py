"""Models as packages ship them, fuzzed as their users would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from running import as_a_process

from soaking import only_in_soak

MODELS = Path(__file__).parents[2] / "examples" / "real_models.py"
pytestmark = pytest.mark.slow


def fuzzed(model: str, seeds: str, out: Path, *options: str) -> dict[str, Any]:
    """The summary of a campaign on one of the models of the example."""
    named = ("fuzz", f"{MODELS}:{model}", "--seeds", f"{MODELS}:{seeds}", "--out", str(out))
    ended = as_a_process(*named, "--json", *options)
    assert ended.code in (0, 1), ended.err
    return ended.json()


@only_in_soak
def test_an_imagenet_classifier_in_torch_beside_its_half_precision_twin(tmp_path: Path) -> None:
    options = ("--twin", "weights16", "--batch", "10", "--executions", "60", "--coverage", "gap")
    summary = fuzzed("imagenet", "photographs", tmp_path / "run", *options)
    assert summary["accuracy_on_seeds"] >= 0.8 and summary["executions"] >= 60


@only_in_soak
def test_an_emotion_classifier_of_keras_beside_its_quantised_twin(tmp_path: Path) -> None:
    options = ("--twin", f"{MODELS}:emotions_quantised", "--layout", "nhwc", "--range=-1,1", "--executions", "400")
    summary = fuzzed("emotions", "faces", tmp_path / "run", "--isolate", "--coverage", "gap", *options)
    assert summary["inputs_per_second_by_variant"].keys() == {"model", "twin"}


def test_the_direction_of_text_by_onnx_beside_openvino(tmp_path: Path) -> None:
    options = ("--mean", "0.5", "--std", "0.5", "--twin", "openvino", "--executions", "300", "--batch", "64")
    summary = fuzzed("direction", "lines_of_text", tmp_path / "run", *options)
    assert summary["accuracy_on_seeds"] >= 0.9
    assert summary["inputs_per_second_by_variant"].keys() == {"model", "twin"}


def test_file_types_by_bytes(tmp_path: Path) -> None:
    options = ("--vocabulary", "256", "--edits", "3", "--executions", "300", "--batch", "64")
    summary = fuzzed("magika", "file_ends", tmp_path / "run", *options)
    assert summary["task"] == "classes" and summary["executions"] >= 300


def test_speech_by_torchscript_beside_onnx(tmp_path: Path) -> None:
    options = ("--twin", f"{MODELS}:speech_onnx", "--rate", "16000", "--executions", "60", "--batch", "20")
    summary = fuzzed("speech", "sounds", tmp_path / "run", *options)
    assert "agree" in summary["sought"] and "agree" not in summary["findings"]
