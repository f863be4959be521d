"""`jostle inspect`: what a model takes, gives and is made of, whatever runs it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, save
from running import Ended
from torch import Tensor, nn

from jostle.isolation.orphans import TAG
from jostle.zoo import lenet1
from model_files import write_onnx, write_openvino

LAYERS = {"conv1": [4, 24, 24], "relu1": [4, 24, 24], "pool1": [4, 12, 12], "fc1": [10]}


@pytest.fixture
def inspect(jostle: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """The command in this process, without the seconds that another takes to start."""
    monkeypatch.setenv(TAG, "in a test")
    return lambda *arguments: jostle("inspect", *arguments)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_openvino(write_onnx(lenet1(), torch.zeros(2, 1, 28, 28), folder / "net.onnx"), folder / "net.xml")
    rows = torch.export.Dim("rows", min=1)
    program = torch.export.export(lenet1(), (torch.zeros(2, 1, 28, 28),), dynamic_shapes=({0: rows},))
    torch.export.save(program, folder / "net.pt2")
    return folder


def layers(told: dict[str, Any]) -> dict[str, tuple[list[int], int]]:
    return {one["name"]: (one["shape"], one["neurons"]) for one in told["layers"]}


@pytest.mark.parametrize(
    ("name", "more", "kind", "engine"),
    [
        ("net.onnx", [], "ONNX", "onnxruntime"),
        ("net.onnx", ["--engine", "openvino"], "OpenVINO", "openvino"),
        ("net.pt2", [], "exported program", "torch"),
    ],
)
def test_it_tells_inputs_outputs_layers_and_neurons(
    inspect: Callable[..., Ended], models: Path, name: str, more: list[str], kind: str, engine: str
) -> None:
    told = inspect(str(models / name), "--json", *more).json()
    assert (told["kind"], told["engine"], told["batch"]) == (kind, engine, None)
    assert told["inputs"] == [{"name": "images", "dtype": "float32", "shape": [1, 28, 28]}]
    assert told["outputs"] == {"": [10]} and told["weights"] == sum(one.numel() for one in lenet1().parameters())
    assert {name: layers(told)[name] for name in LAYERS} == {name: (shape, shape[0]) for name, shape in LAYERS.items()}
    begin = f"jostle fuzz {models / name} --seeds IMAGES/ --size 28,28 --channels 1"
    assert told["command"] == shlex.join([*begin.split(), *more])


def test_a_model_in_python_needs_a_shape_or_seeds_to_show_its_layers(
    inspect: Callable[..., Ended], in_workshop: Path
) -> None:
    told = inspect("models.py:build", "--json").json()
    assert told["layers"] is None and "--shape" in told["note"] and "float16" in told["twins"]
    for more in (["--shape", "1x28x28"], ["--seeds", "ok.npy"], ["--seeds", "digits"]):
        shown = inspect("models.py:build", "--json", *more).json()
        assert ([6, 24, 24], 6) in layers(shown).values() and not shown["note"]


def test_the_line_to_start_with_fuzzes_the_model(
    inspect: Callable[..., Ended], jostle: Callable[..., Ended], litert_files: Path, in_workshop: Path, tmp_path: Path
) -> None:
    model = str(litert_files / "int8.tflite")
    command = inspect(model, "--json").json()["command"]
    assert "--size 28,28 --channels 1 --layout nhwc" in command
    words = shlex.split(command.replace("IMAGES/", "digits"))
    done = jostle(*words[1:], "--executions", "200", "--no-isolate", "--json")
    assert done.json()["executions"] >= 200, done.err


def test_it_is_shown_as_tables_with_the_line_to_start_with(inspect: Callable[..., Ended], models: Path) -> None:
    shown = inspect(str(models / "net.xml"))
    assert shown.code == 0 and not shown.err
    assert "OpenVINO, run by openvino" in shown.out and "images float32 1×28×28" in shown.out
    assert "node_relu" in shown.out and "start with: jostle fuzz" in shown.out


def test_several_inputs_are_told_by_name(inspect: Callable[..., Ended], tmp_path: Path) -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 4)

        def forward(self, one: Tensor, two: Tensor) -> Tensor:
            return self.fc(one) + two

    batch = {0: torch.export.Dim("batch", min=1)}
    sample = (torch.zeros(2, 3), torch.zeros(2, 4))
    program = torch.onnx.export(Sum().eval(), sample, dynamo=True, dynamic_shapes=(batch, batch), verbose=False)
    assert program is not None
    program.save(str(tmp_path / "sum.onnx"))
    told = inspect(str(tmp_path / "sum.onnx"), "--json").json()
    assert [one["name"] for one in told["inputs"]] == ["one", "two"]
    assert told["command"].endswith("sum.onnx --seeds ARRAYS.npz") and told["outputs"] == {"": [4]}


def test_what_a_file_leaves_open_is_asked_for_by_name(inspect: Callable[..., Ended], tmp_path: Path) -> None:
    module = nn.Sequential(nn.Conv2d(3, 2, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    sizes = {0: torch.export.Dim("batch", min=1), 2: torch.export.Dim("height", min=8)}
    program = torch.onnx.export(module.eval(), (torch.zeros(2, 3, 16, 16),), dynamo=True, dynamic_shapes=(sizes,))
    assert program is not None
    program.save(str(tmp_path / "open.onnx"))
    told = inspect(str(tmp_path / "open.onnx"), "--json").json()
    assert told["layers"] is None and "--shape input=3xSIZEx16" in told["note"]
    assert inspect(str(tmp_path / "open.onnx"), "--json", "--shape", "input=3x32x16").json()["outputs"] == {"": [2]}


RETURNING = """
from pathlib import Path

def a_path():
    return Path(__file__).with_name("net.onnx")

def a_keras_model():
    from jostle.zoo import lenet1
    from model_files import as_keras
    return as_keras(lenet1())
"""
OF_ONNX = ["float16", "weights16", "int8", "int8-static", "openvino"]


@pytest.mark.parametrize(
    ("function", "engine", "twins"),
    [("a_path", "onnxruntime", OF_ONNX), ("a_keras_model", "tensorflow", ["weights16", "litert", "onnx"])],
)
def test_what_a_function_returns_is_told_as_it_is(
    inspect: Callable[..., Ended], models: Path, function: str, engine: str, twins: list[str]
) -> None:
    (models / "returning.py").write_text(RETURNING)
    told = inspect(f"{models / 'returning.py'}:{function}", "--json").json()
    assert (told["kind"], told["engine"]) == ("Python", engine) and {*twins} <= {*told["twins"]}
    assert told["weights"] == sum(one.numel() for one in lenet1().parameters())
    assert "compile" not in told["twins"]


def test_twins_are_those_of_the_file_by_whatever_it_is_run(inspect: Callable[..., Ended], models: Path) -> None:
    by_openvino = inspect(str(models / "net.onnx"), "--engine", "openvino", "--json").json()
    assert by_openvino["twins"] == OF_ONNX and inspect(str(models / "net.xml"), "--json").json()["twins"] == []


def test_names_with_spaces_are_quoted_for_the_shell(inspect: Callable[..., Ended], tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["my image"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("my image", TensorProto.FLOAT, ["n", 3, "h"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3, "h"])],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "net.onnx")
    told = inspect(str(tmp_path / "net.onnx"), "--json").json()
    assert "give --shape 'my image=3xSIZE' or" in told["note"]
    command = inspect(str(tmp_path / "net.onnx"), "--json", "--shape", "my image=3x4").json()["command"]
    assert shlex.split(command)[-2:] == ["--shape", "my image=3x4"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nothing.onnx"], "does not exist"),
        (["models.py:build", "--shape", "photo=1x28x28"], "--shape photo: the model takes images"),
        (["models.py:build", "--shape", "1x5x5"], "the model fails on zeros of shape [1, 5, 5]"),
        (["models.py:build", "--shape", "big"], "give the sizes"),
        (["ok.npy"], "no format that can be fuzzed"),
        (["dynamic.pt2", "--engine", "openvino"], "--engine openvino does not run"),
    ],
)
def test_bad_input_is_one_line(
    inspect: Callable[..., Ended], in_workshop: Path, arguments: list[str], why: str
) -> None:
    done = inspect(*arguments)
    assert done.code == 4 and why in done.err and len(done.err.strip().splitlines()) == 1


def test_a_file_is_opened_in_a_process_of_its_own(process: Callable[..., Ended], models: Path) -> None:
    told = process("inspect", str(models / "net.onnx"), "--json").json()
    assert np.prod(told["layers"][0]["shape"]) == 4 * 24 * 24
