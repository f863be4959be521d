"""ONNX files: any input, dtype and layout, layers by the names that users know, and refusals that name the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from jostle.errors import ModelRefused, PreflightFailed
from jostle.layout import Field, Layout
from jostle.options.campaign import BEHIND_ACTIVATIONS, InputOptions, WatchOptions
from jostle.subjects.instrument import Instrumentation, fitted, instrument, layers_on_one, plain_target
from jostle.subjects.layers import before_softmax, matching, scores_layer, speaking, working
from jostle.subjects.onnx_file import OnnxModel, open_onnx
from jostle.subjects.registry import load
from jostle.subjects.subject import Loading, Watch
from jostle.zoo import lenet1, mnist_sample
from making import batch_of
from model_files import write_onnx

IMAGES = mnist_sample()[0][:6]
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
RNG = np.random.default_rng(0)


def saved(path: Path, nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], **weights: Any) -> Path:
    """A model of these nodes; inputs and outputs are (type, shape) by name."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, *value) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, *value) for name, value in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def classifier(path: Path, batch: Any = "N", end: str = "Softmax") -> Path:
    """Images [2, 4, 4] to three classes by a convolution, a matrix and a softmax."""
    nodes = [
        helper.make_node("Conv", ["image", "kernel"], ["maps"], name="first", kernel_shape=[3, 3]),
        helper.make_node("Relu", ["maps"], ["active"], name="rectified"),
        helper.make_node("Flatten", ["active"], ["flat"], name="flattened"),
        helper.make_node("MatMul", ["flat", "matrix"], ["logits"], name="last"),
        helper.make_node(end, ["logits"], ["scores"], name="end"),
    ]
    kernel, matrix = (RNG.normal(size=shape).astype(np.float32) for shape in ((5, 2, 3, 3), (20, 3)))
    types = {"image": (FLOAT, [batch, 2, 4, 4])}, {"scores": (FLOAT, [batch, 3])}
    return saved(path, nodes, *types, kernel=kernel, matrix=matrix)


def test_an_exported_module_answers_as_it_did_and_its_layers_have_their_names(tmp_path: Path) -> None:
    module = lenet1()
    subject = load(str(write_onnx(module, IMAGES[:2], tmp_path / "net.onnx")))
    assert torch.allclose(subject.target().predict(IMAGES), module(IMAGES), atol=1e-4)
    names = [name for name, layer in module.named_modules() if name]
    assert [layer.name for layer in layers_on_one(subject, IMAGES[:1])] == names


def test_watched_layers_hold_what_torch_layers_hold(tmp_path: Path) -> None:
    module = lenet1()
    watch = Watch(["conv1", "relu1", "pool1", "conv2"], extremes=True)
    subject = load(str(write_onnx(module, IMAGES[:2], tmp_path / "net.onnx")))
    ours, theirs = (one.target(watch).run(batch_of(IMAGES)) for one in (subject, load("jostle.zoo:lenet1")))
    for name, value in theirs.activations.items():
        assert torch.allclose(ours.activations[name], value, atol=1e-4), name
        assert torch.allclose(ours.extremes[name], theirs.extremes[name], atol=1e-4), name
    every = Watch(["conv1", "conv2"], units="every")
    ours, theirs = (one.target(every).run(batch_of(IMAGES)) for one in (subject, load("jostle.zoo:lenet1")))
    assert all(torch.allclose(ours.activations[name], theirs.activations[name], atol=1e-4) for name in every.layers)


def test_layers_go_by_the_names_of_nodes_and_of_tensors(tmp_path: Path) -> None:
    layers = layers_on_one(load(str(classifier(tmp_path / "net.onnx"))), torch.ones(1, 2, 4, 4))
    assert matching(layers, ["fir*"]) == matching(layers, ["maps"]) == ["first"]


def test_neurons_are_those_in_which_fused_parts_end(tmp_path: Path) -> None:
    layers = layers_on_one(load(str(classifier(tmp_path / "net.onnx"))), torch.ones(1, 2, 4, 4))
    assert speaking(layers) == ["rectified", "last"] and working(layers) == ["last"]


@pytest.mark.parametrize("end", ["Softmax", "LogSoftmax"])
def test_logits_before_a_final_softmax_are_found(end: str, tmp_path: Path) -> None:
    layers = layers_on_one(load(str(classifier(tmp_path / "net.onnx", end=end))), torch.ones(1, 2, 4, 4))
    assert before_softmax(layers) == ["last"] and scores_layer(layers) == "last"


def test_a_fixed_batch_is_filled_up_and_a_batch_of_one_runs_row_by_row(tmp_path: Path) -> None:
    inputs = torch.rand(5, 2, 4, 4, generator=torch.Generator().manual_seed(0))
    any_batch = load(str(classifier(tmp_path / "any.onnx")))
    for size in (1, 3):
        path = tmp_path / f"{size}.onnx"
        model = onnx.load(tmp_path / "any.onnx")
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = size
        onnx.save(model, path)
        subject = load(str(path))
        target = plain_target(fitted(subject, InputOptions(), inputs), InputOptions())
        assert subject.batch == size
        assert torch.allclose(target.predict(inputs), any_batch.target().predict(inputs), atol=1e-6)


def test_channels_last_are_told_and_can_be_had(tmp_path: Path) -> None:
    nodes = [helper.make_node("Transpose", ["pixels"], ["image"], perm=[0, 3, 1, 2], name="turn")]
    model = onnx.load(classifier(tmp_path / "net.onnx"))
    model.graph.node.insert(0, nodes[0])
    del model.graph.input[:]
    model.graph.input.append(helper.make_tensor_value_info("pixels", FLOAT, ["N", 4, 4, 2]))
    onnx.save(model, tmp_path / "last.onnx")
    subject, inputs = load(str(tmp_path / "last.onnx")), torch.rand(3, 2, 4, 4)
    with pytest.raises(PreflightFailed, match="its channels come last, so add --layout nhwc"):
        subject.target().predict(inputs)
    expected = load(str(tmp_path / "net.onnx")).target().predict(inputs)
    assert torch.allclose(subject.channels_last().target().predict(inputs), expected, atol=1e-6)
    with pytest.raises(PreflightFailed, match="leave out --layout nhwc"):
        load(str(tmp_path / "net.onnx")).channels_last().target().predict(inputs)


def test_several_inputs_are_given_by_name_in_their_own_types(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["looked_up"], name="look"),
        helper.make_node("ReduceMean", ["looked_up"], ["mean"], axes=[1], keepdims=0, name="mean"),
        helper.make_node("Concat", ["mean", "numbers"], ["joined"], axis=1, name="join"),
    ]
    types = {"tokens": (INT64, ["N", 4]), "numbers": (FLOAT, ["N", 2])}, {"joined": (FLOAT, ["N", 5])}
    table = RNG.normal(size=(7, 3)).astype(np.float32)
    subject = load(str(saved(tmp_path / "net.onnx", nodes, *types, table=table)))
    layout = Layout((Field("numbers", (2,)), Field("tokens", (4,), torch.int64)))
    rows = layout.packed({"numbers": torch.rand(3, 2), "tokens": torch.randint(7, (3, 4))})
    outputs = subject.taking(layout).target().predict(rows)
    given = layout.unpacked(rows)
    expected = torch.cat([torch.from_numpy(table)[given["tokens"]].mean(1), given["numbers"]], 1)
    assert torch.allclose(outputs, expected, atol=1e-6)
    with pytest.raises(ModelRefused, match="the model takes tokens, numbers"):
        subject.taking(Layout((Field("ids", (4,), torch.int64), Field("numbers", (2,)))))
    with pytest.raises(ModelRefused, match="takes tokens, numbers, and seeds are one array"):
        subject.taking(None)


def test_bytes_are_rounded_and_tokens_must_be_whole(tmp_path: Path) -> None:
    cast = [helper.make_node("Cast", ["x"], ["y"], to=FLOAT, name="widen")]
    in_bytes = load(
        str(saved(tmp_path / "b.onnx", cast, {"x": (TensorProto.UINT8, ["N", 3])}, {"y": (FLOAT, ["N", 3])}))
    )
    assert in_bytes.target().predict(torch.tensor([[0.4, 254.6, 300.0]])).tolist() == [[0.0, 255.0, 255.0]]
    tokens = load(str(saved(tmp_path / "t.onnx", cast, {"x": (INT64, ["N", 3])}, {"y": (FLOAT, ["N", 3])})))
    assert tokens.target().predict(torch.tensor([[1, 2, 3]])).tolist() == [[1.0, 2.0, 3.0]]
    with pytest.raises(PreflightFailed, match="save them as int64"):
        tokens.target().predict(torch.rand(1, 3))


def test_weights_may_lie_in_files_beside_the_model(tmp_path: Path) -> None:
    whole = classifier(tmp_path / "whole.onnx")
    onnx.save(
        onnx.load(whole), tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0
    )
    inputs = torch.rand(3, 2, 4, 4)
    subject = load(str(tmp_path / "net.onnx"))
    watched = subject.target(Watch(["first"])).run(batch_of(inputs))
    assert torch.allclose(watched.outputs["model"], load(str(whole)).target().predict(inputs), atol=1e-6)
    digest = subject.digest
    data = bytearray((tmp_path / "net.data").read_bytes())
    data[3] ^= 0x40
    (tmp_path / "net.data").write_bytes(bytes(data))
    assert load(str(tmp_path / "net.onnx")).digest != digest
    (tmp_path / "net.data").unlink()
    with pytest.raises(ModelRefused, match=r"net\.data"):
        load(str(tmp_path / "net.onnx"))


def with_data_in_branch(folder: Path, value: float) -> Path:
    """A model whose only weight is a constant in a branch, in a file beside it."""
    (folder / "branch.data").write_bytes(np.full(3, value, np.float32).tobytes())
    inner = helper.make_tensor("inner", FLOAT, [3], [0.0] * 3)
    inner.ClearField("float_data")
    inner.data_location = TensorProto.EXTERNAL
    inner.external_data.add(key="location", value="branch.data")
    gives = [helper.make_tensor_value_info("taken", FLOAT, [3])]
    branch = helper.make_graph([helper.make_node("Constant", [], ["taken"], value=inner)], "branch", [], gives)
    nodes = [
        helper.make_node("If", ["yes"], ["chosen"], name="if", then_branch=branch, else_branch=branch),
        helper.make_node("Add", ["x", "chosen"], ["y"], name="add"),
    ]
    types = {"x": (FLOAT, ["N", 3])}, {"y": (FLOAT, ["N", 3])}
    return saved(folder / "net.onnx", nodes, *types, yes=np.array(True))


def test_the_digest_covers_data_of_constants_inside_branches(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    opening = Loading()
    digests = [
        open_onnx(with_data_in_branch(folder, value), opening).digest
        for folder, value in zip(folders, (1.0, 2.0, 1.0), strict=True)
    ]
    assert digests[0] == digests[2] != digests[1]


def test_sizes_that_the_file_leaves_open_can_be_given_and_must_fit(tmp_path: Path) -> None:
    path = classifier(tmp_path / "net.onnx")
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    onnx.save(model, path)
    sized = load(str(path), how=Loading(shapes={"image": (2, 4, 4)}))
    assert sized.target().predict(torch.rand(2, 2, 4, 4)).shape == (2, 3)
    with pytest.raises(PreflightFailed, match="do not fit"):
        sized.target().predict(torch.rand(2, 2, 5, 4))
    with pytest.raises(ModelRefused, match=r"--shape picture: the model takes image float32 \[any×2×any×4\]"):
        load(str(path), how=Loading(shapes={"picture": (2, 4, 4)}))
    with pytest.raises(ModelRefused, match="--shape 3x4x4 does not fit"):
        load(str(path), how=Loading(shapes={"": (3, 4, 4)}))


def test_what_the_runtime_cannot_run_is_refused_in_one_line(tmp_path: Path) -> None:
    types = {"x": (FLOAT, ["N", 3])}, {"y": (FLOAT, ["N", 3])}
    unknown = saved(tmp_path / "u.onnx", [helper.make_node("Frobnicate", ["x"], ["y"])], *types)
    with pytest.raises(ModelRefused, match=r"cannot be run by ONNX Runtime.*Frobnicate"):
        load(str(unknown))
    (tmp_path / "text.onnx").write_text("no model at all")
    with pytest.raises(ModelRefused, match="cannot be loaded"):
        load(str(tmp_path / "text.onnx"))
    with pytest.raises(ModelRefused, match=r"--engine jax does not run .*choose from onnxruntime"):
        load(str(classifier(tmp_path / "net.onnx")), how=Loading(engine="jax"))


def test_gradients_are_refused_with_what_to_use_instead(tmp_path: Path) -> None:
    target = load(str(classifier(tmp_path / "net.onnx"))).target()
    with pytest.raises(ModelRefused, match="--recipe tensorfuzz or deephunter"):
        target.linearise(torch.rand(2, 2, 4, 4))


def test_an_input_without_a_batch_is_refused(tmp_path: Path) -> None:
    add = [helper.make_node("Add", ["x", "rate"], ["y"], name="add")]
    types = {"x": (FLOAT, ["N", 3]), "rate": (FLOAT, [])}, {"y": (FLOAT, ["N", 3])}
    with pytest.raises(ModelRefused, match=r"input rate float32 .* has no batch"):
        load(str(saved(tmp_path / "net.onnx", add, *types)))


def test_a_module_of_several_nodes_is_one_layer(tmp_path: Path) -> None:
    class Gated(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * x.sigmoid() + 1

    module = nn.Sequential(nn.Linear(4, 3), Gated(), nn.Linear(3, 2))
    subject = load(str(write_onnx(module, torch.rand(2, 4), tmp_path / "net.onnx")))
    assert [layer.name for layer in layers_on_one(subject, torch.rand(1, 4))] == ["0", "1", "2"]
    inputs = torch.rand(5, 4)
    trace = subject.target(Watch(["1"])).run(batch_of(inputs))
    assert torch.allclose(trace.activations["1"], module[:2](inputs), atol=1e-5)


def test_a_mean_of_large_finite_values_is_finite(tmp_path: Path) -> None:
    scale = [helper.make_node("Mul", ["x", "huge"], ["y"], name="scaled")]
    types = {"x": (FLOAT, ["N", 1, 8, 8])}, {"y": (FLOAT, ["N", 1, 8, 8])}
    subject = load(str(saved(tmp_path / "net.onnx", scale, *types, huge=np.float32(2e37))))
    trace = subject.target(Watch(["scaled"])).run(batch_of(torch.full((2, 1, 8, 8), 10.0)))
    assert trace.activations["scaled"].tolist() == [[pytest.approx(2e38)], [pytest.approx(2e38)]]


def opened_sessions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What ONNX Runtime opens from now on."""
    found, opening = list[object](), OnnxModel._opened
    monkeypatch.setattr(
        OnnxModel, "_opened", lambda model, proto: found.append(opened := opening(model, proto)) or opened
    )
    return found


def test_few_sessions_are_opened_before_the_first_execution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, inputs = classifier(tmp_path / "net.onnx"), torch.rand(4, 2, 4, 4)
    found = opened_sessions(monkeypatch)
    watching = Instrumentation(WatchOptions(), InputOptions(), counted=BEHIND_ACTIVATIONS)
    instrument(watching, load(str(path)), inputs).target.run(batch_of(inputs))
    assert len(found) == 3  # outputs alone, all layers to see which there are, and those that are watched


def test_sessions_that_look_at_values_that_are_not_finite_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = [helper.make_node("Mul", ["x", "huge"], ["y"], name="scaled")]
    types = {"x": (FLOAT, ["N", 1, 8, 8])}, {"y": (FLOAT, ["N", 1, 8, 8])}
    subject = load(str(saved(tmp_path / "net.onnx", scale, *types, huge=np.float32(2e37))))
    found = opened_sessions(monkeypatch)
    target, rows = subject.target(Watch(["scaled"])), torch.full((2, 1, 8, 8), 10.0)
    target.run(batch_of(rows / 1e6))
    assert len(found) == 1
    for _ in range(3):
        assert target.run(batch_of(rows)).activations["scaled"].tolist() == [[pytest.approx(2e38)]] * 2
    assert len(found) == 2
