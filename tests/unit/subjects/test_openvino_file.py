"""OpenVINO models: layers by name, values as ONNX Runtime gives them, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from jostle.errors import ModelRefused, PreflightFailed
from jostle.subjects.instrument import layers_on_one
from jostle.subjects.layers import scores_layer, speaking, working
from jostle.subjects.openvino_file import OpenVinoModel
from jostle.subjects.registry import load
from jostle.subjects.subject import Loading, Watch
from jostle.zoo import lenet1, mnist_sample
from making import batch_of
from model_files import write_onnx, write_openvino

IMAGES = mnist_sample()[0][:6]
BY_OPENVINO = Loading(engine="openvino")


class Overflowing(nn.Module):
    """Gives NaN for negative inputs, and values for large ones whose sum is more than a float32 holds."""

    def __init__(self) -> None:
        super().__init__()
        self.root = nn.Conv2d(1, 2, 1)
        self.fc = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.sqrt(self.root(x)).amax((2, 3)))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    onnx = write_onnx(nn.Sequential(lenet1(), nn.Softmax(1)), IMAGES[:2], folder / "net.onnx")
    write_openvino(onnx, folder / "net.xml")
    return folder


def test_layers_of_an_onnx_file_are_called_and_compute_as_by_onnx_runtime(files: Path) -> None:
    by_onnx, own = load(str(files / "net.onnx")), load(str(files / "net.onnx"), how=BY_OPENVINO)
    layers = layers_on_one(by_onnx, IMAGES[:1])
    assert [layer.name for layer in layers_on_one(own, IMAGES[:1])] == [layer.name for layer in layers]
    for units in ("channels", "every"):
        watch = Watch([layer.name for layer in layers], units, extremes=True)
        theirs, ours = by_onnx.target(watch).run(batch_of(IMAGES)), own.target(watch).run(batch_of(IMAGES))
        for name in watch.layers:
            assert torch.allclose(ours.activations[name], theirs.activations[name], atol=1e-4)
            assert torch.allclose(ours.extremes[name], theirs.extremes[name], atol=1e-4)


def test_layers_of_its_own_format_are_its_nodes_and_scores_stand_before_softmax(files: Path) -> None:
    layers = layers_on_one(load(str(files / "net.xml")), IMAGES[:1])
    names = [layer.name for layer in layers]
    assert names[:3] == ["node_convolution", "node_relu", "node_max_pool2d"]
    assert scores_layer(layers) == names[-2]


def test_what_was_converted_from_torch_is_called_by_its_modules(tmp_path: Path) -> None:
    from jostle.subjects.openvino_file import openvino_runtime

    openvino = openvino_runtime()
    network = openvino.convert_model(lenet1().eval(), example_input=IMAGES[:2])
    openvino.save_model(network, tmp_path / "net.xml", compress_to_fp16=False)
    subject = load(str(tmp_path / "net.xml"), how=Loading(shapes={"": (1, 28, 28)}))
    watch = Watch([layer.name for layer in layers_on_one(subject, IMAGES[:1])])
    assert watch.layers[:3] == ["conv1", "relu1", "pool1"] and watch.layers[-1] == "fc1"
    own = load("jostle.zoo:lenet1").target(watch).run(batch_of(IMAGES)).activations
    theirs = subject.target(watch).run(batch_of(IMAGES)).activations
    assert all(torch.allclose(own[name], theirs[name], atol=1e-4) for name in own)


def test_infinity_and_nan_of_a_layer_are_seen_where_they_are(tmp_path: Path) -> None:
    module = Overflowing()
    nn.init.constant_(module.root.weight, 1.0)
    nn.init.zeros_(module.root.bias)
    path = write_onnx(module, torch.ones(2, 1, 4, 4), tmp_path / "net.onnx")
    rows = torch.ones(3, 1, 4, 4)
    rows[1], rows[2, 0, 0, 1] = 3e38, -1.0
    trace = load(str(path), how=BY_OPENVINO).target(Watch(["root"], extremes=True)).run(batch_of(rows))
    assert torch.equal(trace.activations["root"][1], torch.full((2,), 3e38))
    own = load(str(path), how=BY_OPENVINO)
    sqrt = next(layer.name for layer in layers_on_one(own, rows[:1]) if "sqrt" in layer.name)
    seen = own.target(Watch([sqrt], extremes=True)).run(batch_of(rows))
    assert seen.activations[sqrt].isnan().any(1).tolist() == [False, False, True]
    assert seen.extremes[sqrt].isnan().any(1).tolist() == [False, False, True]


def test_networks_are_compiled_once_however_many_batches_are_not_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_onnx(Overflowing(), torch.ones(2, 1, 4, 4), tmp_path / "net.onnx")
    compiled, compiling = list[object](), OpenVinoModel._compiled
    monkeypatch.setattr(
        OpenVinoModel, "_compiled", lambda model, network: compiled.append(network) or compiling(model, network)
    )
    subject = load(str(path), how=BY_OPENVINO)
    target = subject.target(Watch(["root"]))
    for _ in range(3):
        assert not target.run(batch_of(torch.full((2, 1, 4, 4), torch.inf))).activations["root"].isfinite().all()
    assert len(compiled) == 3  # outputs alone, the layer's mean, the layer as it is


def test_only_the_layer_before_softmax_is_watched_where_nothing_asks_for_more(files: Path) -> None:
    for name, how in (("net.xml", Loading()), ("net.onnx", BY_OPENVINO), ("net.onnx", Loading())):
        layers = layers_on_one(load(str(files / name), how=how), IMAGES[:1])
        assert working(layers) == [layers[-2].name] and len(speaking(layers)) > 1


def test_a_model_of_one_batch_size_is_known_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    program = torch.onnx.export(lenet1().eval(), (IMAGES[:1],), dynamo=True, verbose=False)
    assert program is not None
    program.save(str(path))
    assert load(str(write_openvino(path, tmp_path / "net.xml"))).batch == 1
    assert load(str(path), how=BY_OPENVINO).batch == 1


def test_several_batch_sizes_give_the_same_rows(files: Path) -> None:
    target = load(str(files / "net.xml")).target()
    alone = torch.cat([target.predict(row) for row in IMAGES.split(1)])
    assert torch.allclose(target.predict(IMAGES), alone, atol=1e-5)
    first = target.predict(IMAGES)
    kept = first.clone()
    target.predict(IMAGES.flip(0))
    assert torch.equal(first, kept)  # what was returned is not written over


def test_what_the_runtime_says_is_told_in_one_line(tmp_path: Path, files: Path) -> None:
    (tmp_path / "broken.xml").write_text("hello")
    with pytest.raises(ModelRefused, match=r"broken\.xml cannot be loaded"):
        load(str(tmp_path / "broken.xml"))
    (tmp_path / "alone.xml").write_bytes((files / "net.xml").read_bytes())
    with pytest.raises(ModelRefused, match=r"weights 'alone\.bin' are missing"):
        load(str(tmp_path / "alone.xml"))
    with pytest.raises(ModelRefused, match=r"--engine onnxruntime does not run .*net.xml: choose from openvino"):
        load(str(files / "net.xml"), how=Loading(engine="onnxruntime"))
    with pytest.raises(ModelRefused, match=r"--shape 3x28x28 does not fit: the model takes"):
        load(str(files / "net.xml"), how=Loading(shapes={"": (3, 28, 28)}))
    with pytest.raises(PreflightFailed, match="do not fit what the model takes"):
        load(str(files / "net.xml")).target().predict(torch.zeros(2, 3, 28, 28))


def test_an_operator_that_it_does_not_know_is_named(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save

    unknown = helper.make_node("MelWeightMatrix", ["a", "b", "c", "d", "e"], ["mel"])
    ends = [
        helper.make_tensor(name, TensorProto.INT64, [], [value])
        for name, value in zip("abc", (8, 16, 8000), strict=True)
    ]
    ends += [
        helper.make_tensor(name, TensorProto.FLOAT, [], [value])
        for name, value in zip("de", (0.0, 4000.0), strict=True)
    ]
    graph = helper.make_graph(
        [unknown, helper.make_node("MatMul", ["x", "mel"], ["y"])],
        "mel",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])],
        ends,
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "mel.onnx")
    with pytest.raises(ModelRefused, match=r"MelWeightMatrix.*leave out --engine openvino"):
        load(str(tmp_path / "mel.onnx"), how=BY_OPENVINO)


def test_importing_the_runtime_sends_no_message_and_writes_nothing(tmp_path: Path) -> None:
    script = (
        "import sys; from jostle.subjects.openvino_file import openvino_runtime; openvino_runtime().Core(); "
        "assert not any(name.startswith('openvino_telemetry') for name in sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", script], check=True, env={"HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    )
    assert list(tmp_path.iterdir()) == []


def test_a_runtime_that_is_missing_is_named_with_what_installs_it(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ModelRefused, match=r"pip install 'jostle\[openvino\]'"):
        load(str(files / "net.xml"))
