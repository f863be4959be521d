"""`jostle fuzz` on model files of every kind that are wrong, hostile, or do not go with the rest: one line, exit 4."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from running import Ended
from test_bad_input import check_refused

from jostle.zoo import lenet1, mnist_sample
from model_files import write_keras, write_onnx, write_openvino, write_saved_model, write_vision_transformer
from security.model_payloads import (
    HUGGING_FACE_PAYLOADS,
    KERAS_PAYLOADS,
    LITERT_PAYLOADS,
    ONNX_PAYLOADS,
    OPENVINO_PAYLOADS,
    SAVED_MODEL_PAYLOADS,
)

Run = Callable[..., Ended]
pytestmark = pytest.mark.slow  # models of every kind are written first, by TensorFlow and transformers too
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
HERE = ["--no-isolate", "--executions", "50", "--out", "out"]  # in this process, because another takes seconds to start


def write_graph(path: Path, operator: str, inputs: dict[str, tuple[int, list[object]]], opset: int = 17) -> None:
    """A model of one operator, whose output is like its first input."""
    (kind, shape), *_ = inputs.values()
    attributes = {"to": FLOAT} if operator == "Cast" else {}
    graph = helper.make_graph(
        [helper.make_node(operator, list(inputs), ["answer"], **attributes)],
        "graph",
        [helper.make_tensor_value_info(name, *value) for name, value in inputs.items()],
        [helper.make_tensor_value_info("answer", FLOAT if operator == "Cast" else kind, shape)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)


def write_seeds(folder: Path) -> None:
    images, labels = (part[:40] for part in mnist_sample())
    np.savez(folder / "first.npz", x=images.numpy(), y=labels.numpy())
    np.savez(folder / "last.npz", x=images.movedim(1, -1).numpy(), y=labels.numpy())
    np.save(folder / "small.npy", images[:, :, :20, :20].numpy())
    np.save(folder / "whole.npy", (images > 0.5).long().flatten(1).numpy())
    rows = np.random.default_rng(0).random((9, 3), dtype=np.float32)
    np.save(folder / "rows.npy", rows)
    np.savez(folder / "a.npz", a=rows)
    np.savez(folder / "ac.npz", a=rows, c=rows)


def write_onnx_files(folder: Path) -> None:
    write_openvino(write_onnx(lenet1(), torch.zeros(2, 1, 28, 28), folder / "net.onnx"), folder / "net.xml")
    write_graph(folder / "newer.onnx", "Relu", {"x": (FLOAT, ["n", 3])}, opset=99)
    write_graph(folder / "unknown.onnx", "Frobnicate", {"x": (FLOAT, ["n", 3])})
    write_graph(folder / "open.onnx", "Relu", {"x": (FLOAT, ["n", 3, "h"])})
    write_graph(folder / "two.onnx", "Add", {"a": (FLOAT, ["n", 3]), "b": (FLOAT, ["n", 3])})
    write_graph(folder / "images.onnx", "Relu", {"x": (FLOAT, ["n", 1, 28, 28])})
    write_graph(folder / "tokens.onnx", "Cast", {"x": (INT64, ["n", 784])})
    for name in ("outside.onnx", "missing.onnx"):
        model = onnx.load(folder / "net.onnx")
        onnx.save(model, folder / name, save_as_external_data=True, location=f"{name}.data", size_threshold=0)
    (folder / "missing.onnx.data").unlink()
    outside = onnx.load(folder / "outside.onnx", load_external_data=False)
    for entry in (entry for one in outside.graph.initializer for entry in one.external_data):
        entry.value = f"../{entry.value}" if entry.key == "location" else entry.value
    onnx.save(outside, folder / "outside.onnx")


def damage(path: Path, *parts: str) -> None:
    """Writes the same file, or folder with a file in it, cut in half and empty."""
    for name, share in (("cut", 2), ("empty", 10**9)):
        damaged = path.with_name(f"{name}-{path.name}")
        shutil.copytree(path, damaged) if path.is_dir() else shutil.copy(path, damaged)
        content = damaged.joinpath(*parts).read_bytes()
        damaged.joinpath(*parts).write_bytes(content[: len(content) // share])


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, litert_files: Path) -> Path:
    """LeNet-1 in every format, whole and damaged, and small models that are wrong in some way."""
    folder = tmp_path_factory.mktemp("bench")
    write_seeds(folder)
    write_onnx_files(folder)
    write_keras(lenet1(), folder / "net.keras")
    write_saved_model(lenet1(), folder / "saved")
    write_vision_transformer(folder / "vit")
    torch.jit.script(lenet1()).save(str(folder / "net.ts"))  # type: ignore[no-untyped-call]
    shutil.copy(litert_files / "float.tflite", folder / "net.tflite")
    for name in ("net.onnx", "net.xml", "net.keras", "net.tflite", "net.ts"):
        damage(folder / name)
    damage(folder / "saved", "saved_model.pb")
    damage(folder / "vit", "model.safetensors")
    shutil.copytree(folder / "vit", folder / "bare")
    (folder / "bare" / "model.safetensors").unlink()
    return folder


@pytest.fixture
def on_bench(bench: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(bench)
    return bench


AGAIN = "export it again"
# Arguments, then what the line must say: the cause, and the fix.
DAMAGED = [
    ("cut-net.onnx", "is damaged", AGAIN),
    ("empty-net.onnx", "it is empty", "make it again, or get it again"),
    ("cut-net.xml", "is damaged", AGAIN),
    ("empty-net.xml", "it is empty", "make it again"),
    ("cut-net.keras", "is damaged", AGAIN),
    ("empty-net.keras", "it is empty", "make it again"),
    ("cut-net.tflite", "it is damaged", AGAIN),
    ("empty-net.tflite", "it is empty", "make it again"),
    ("cut-net.ts --trust-model", "no format that can be fuzzed", "give .onnx"),
    ("empty-net.ts --trust-model", "no format that can be fuzzed", "give .onnx"),
    ("cut-saved", "it is damaged", AGAIN),
    ("empty-saved", "it is empty", "make it again"),
    ("cut-vit", "does not lie inside the file", "get it again"),
    ("empty-vit", "it is empty", "make it again"),
    ("bare", "it has no model.safetensors", "save the model with save_pretrained"),
    ("missing.onnx", "external data 'missing.onnx.data' is missing", "put it beside the model"),
    ("outside.onnx", "'../outside.onnx.data', which is no name inside its folder", "put it there"),
]
NOT_RUN = [
    ("newer.onnx --seeds rows.npy", "it needs opset 99", "export it with opset"),
    ("newer.onnx --seeds rows.npy --engine openvino", "it needs opset 99", "export it with opset"),
    ("unknown.onnx --seeds rows.npy", "No Op registered for Frobnicate", AGAIN),
    ("unknown.onnx --seeds rows.npy --engine openvino", "Frobnicate", "leave out --engine openvino"),
    ("net.onnx --seeds first.npz --engine jax", "--engine jax does not run net.onnx", "onnxruntime, openvino"),
    ("net.tflite --seeds first.npz --engine jax", "--engine jax does not run net.tflite", "choose from litert"),
    ("net.ts --seeds first.npz", "net.ts is TorchScript, whose code can read and write files", "--trust-model"),
]
NO_SUCH_INPUT = [
    ("net.onnx --seeds first.npz --shape photo=1x28x28", "--shape photo", "images float32 [any×1×28×28]"),
    ("net.xml --seeds first.npz --shape photo=1x28x28", "--shape photo", "images float32 [any×1×28×28]"),
    ("net.keras --seeds last.npz --shape photo=28x28x1", "--shape photo", "images float32 [any×28×28×1]"),
    ("saved --seeds last.npz --shape photo=28x28x1", "--shape photo", "images float32 [any×28×28×1]"),
    ("net.tflite --seeds last.npz --shape photo=28x28x1", "--shape photo", "image float32 [any×28×28×1]"),
    ("vit --seeds first.npz --shape photo=1x28x28", "--shape photo", "the model takes pixel_values"),
    ("net.ts --trust-model --seeds first.npz --shape photo=1x28x28", "--shape photo", "the model takes images"),
    ("two.onnx --seeds ac.npz", "seeds have the inputs a, c", "takes a, b, of which b is missing"),
    ("two.onnx --seeds a.npz", "no array named x (found a)", "one array for each under its name"),
    ("two.onnx --seeds rows.npy", "the model takes a, b, and seeds are one array", "give an .npz"),
]
NOT_FITTING = [
    ("open.onnx --seeds rows.npy", "seeds of shape [3] do not fit", "x float32 [any×3×any]"),
    ("open.onnx --seeds rows.npy --shape 4x5", "--shape 4x5 does not fit", "x float32 [any×3×any]"),
    ("net.onnx --seeds last.npz", "seeds have their channels last", "x.transpose(0, 3, 1, 2)"),
    ("net.onnx --seeds small.npy", "seeds of shape [1, 20, 20] do not fit", "--size 28,28 --channels 1"),
    ("net.onnx --seeds whole.npy", "seeds are whole numbers", "save them as floats"),
    ("tokens.onnx --seeds first.npz", "seeds are floats", "save them as int64"),
    ("net.xml --seeds small.npy", "seeds of shape [1, 20, 20] do not fit", "--size 28,28 --channels 1"),
    ("saved --seeds first.npz", "its channels come last", "add --layout nhwc"),
    ("net.tflite --seeds first.npz", "its channels come last", "add --layout nhwc"),
    ("net.tflite --seeds small.npy --layout nhwc", "seeds of shape [20, 20, 1] do not fit", "--size 28,28"),
    ("vit --seeds small.npy", "fails on seeds of shape [1, 20, 20]", "check the seeds' shape"),
    ("net.ts --trust-model --seeds small.npy", "fails on seeds of shape [1, 20, 20]", "check the seeds' shape"),
]
TWINS = [
    ("net.onnx --seeds first.npz --twin images.onnx", "gives outputs of shape [1, 28, 28]", "of the same task"),
    ("net.onnx --seeds first.npz --twin tokens.onnx", "--twin tokens.onnx must take what", "save them as int64"),
    ("net.onnx --seeds first.npz --twin cut-net.tflite", "cut-net.tflite cannot be loaded", AGAIN),
    ("net.xml --seeds first.npz --twin int8", "--twin int8 cannot be made", "jostle inspect MODEL says which"),
    ("net.onnx --seeds first.npz --twin bfloat16", "--twin bfloat16 cannot be made of ONNX", "use float16"),
    ("images.onnx --seeds first.npz --twin int8-static", "can nothing in this model", "choose another twin"),
]


@pytest.mark.parametrize(
    ("arguments", "cause", "fix"),
    [
        *((f"{model} --seeds first.npz", cause, fix) for model, cause, fix in DAMAGED),
        *(*NOT_RUN, *NO_SUCH_INPUT, *NOT_FITTING, *TWINS),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_fix(
    jostle: Run, on_bench: Path, arguments: str, cause: str, fix: str
) -> None:
    check_refused(jostle("fuzz", *arguments.split(), *HERE), cause, fix)
    assert not (on_bench / "out").exists()


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("onnx", "net.onnx --seeds first.npz", "onnx"),
        ("onnxruntime", "net.onnx --seeds first.npz", "onnx"),
        ("openvino", "net.xml --seeds first.npz", "openvino"),
        ("ai_edge_litert.interpreter", "net.tflite --seeds last.npz", "litert"),
        ("transformers", "vit --seeds first.npz", "transformers"),
    ],
)
def test_a_runtime_that_is_not_installed_is_named(
    jostle: Run, on_bench: Path, monkeypatch: pytest.MonkeyPatch, missing: str, arguments: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    check_refused(jostle("fuzz", *arguments.split(), *HERE), f"pip install 'jostle[{extra}]'")


@pytest.mark.parametrize(
    "payloads",
    [
        pytest.param(ONNX_PAYLOADS, id="ONNX"),
        pytest.param(KERAS_PAYLOADS, id="Keras"),
        pytest.param(OPENVINO_PAYLOADS, id="OpenVINO"),
        pytest.param(LITERT_PAYLOADS, id="LiteRT"),
        pytest.param(SAVED_MODEL_PAYLOADS, id="SavedModel"),
        pytest.param(HUGGING_FACE_PAYLOADS, id="Hugging Face"),
    ],
)
def test_no_payload_runs_through_the_command(
    jostle: Run, bench: Path, tmp_path: Path, payloads: dict[str, Callable[[Path], Path]]
) -> None:
    for number, build in enumerate(payloads.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        model = build(folder)
        before = sorted(folder.rglob("*"))
        check_refused(jostle("fuzz", str(model), "--seeds", str(bench / "rows.npy"), "--no-isolate"))
        assert sorted(folder.rglob("*")) == before  # no canary among them


def test_a_refusal_of_a_worker_is_the_same_line(process: Run, on_bench: Path) -> None:
    check_refused(process("fuzz", "cut-net.tflite", "--seeds", "first.npz", cwd=on_bench), "it is damaged", AGAIN)
