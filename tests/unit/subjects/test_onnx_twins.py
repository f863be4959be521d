"""Twins of ONNX models: what is rounded, quantised and measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from jostle.errors import ModelRefused
from jostle.subjects.registry import load
from jostle.subjects.subject import Subject
from jostle.subjects.twin_making import TwinMaking
from jostle.zoo import lenet1, mnist_sample
from model_files import write_onnx

IMAGES = mnist_sample()[0][:20]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_onnx(lenet1(), IMAGES[:2], tmp_path_factory.mktemp("onnx") / "net.onnx")


def made(path: Path, twin: str, making: TwinMaking) -> tuple[Subject, Path]:
    found = load(str(path)).twin(twin, making)
    assert isinstance(found, Path)
    return load(str(found)), found


def operators(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(str(path)).graph.node}


def weights(path: Path) -> dict[str, np.ndarray]:
    found = onnx.load(str(path)).graph.initializer
    return {one.name: numpy_helper.to_array(one) for one in found if one.data_type == TensorProto.FLOAT and one.dims}


def test_dynamic_int8_takes_scales_from_the_batch_and_says_so(net: Path, tmp_path: Path) -> None:
    twin, path = made(net, "int8", TwinMaking(IMAGES, tmp_path))
    assert {"DynamicQuantizeLinear", "ConvInteger"} <= operators(path)
    assert twin.traits(IMAGES[:2]).quantised


def test_static_int8_takes_scales_from_the_sample(net: Path, tmp_path: Path) -> None:
    twin, path = made(net, "int8-static", TwinMaking(IMAGES, tmp_path))
    assert {"QuantizeLinear", "DequantizeLinear"} <= operators(path) and "DynamicQuantizeLinear" not in operators(path)
    assert not twin.traits(IMAGES[:2]).quantised
    own = load(str(net)).target().predict(IMAGES)
    assert torch.allclose(twin.target().predict(IMAGES), own, atol=1.0)
    narrow, _ = made(net, "int8-static", TwinMaking(IMAGES / 10, tmp_path / "narrow"))
    assert not torch.allclose(narrow.target().predict(IMAGES), own, atol=1.0)


def test_a_model_of_one_batch_size_is_calibrated_in_batches_of_it(tmp_path: Path) -> None:
    program = torch.onnx.export(lenet1().eval(), (IMAGES[:3],), dynamo=True, verbose=False)
    assert program is not None
    program.save(str(tmp_path / "three.onnx"))
    twin, _ = made(tmp_path / "three.onnx", "int8-static", TwinMaking(IMAGES, tmp_path / "twins"))
    assert twin.batch == 3  # of 20 inputs
    assert torch.allclose(twin.target().predict(IMAGES[:3]), lenet1().eval()(IMAGES[:3]).detach(), atol=1.0)


def test_modules_keep_their_names_when_they_are_quantised(net: Path, tmp_path: Path) -> None:
    for name in ("int8-static", "float16"):
        twin, _ = made(net, name, TwinMaking(IMAGES, tmp_path))
        assert {"conv1", "conv2"} <= {layer.name for layer in twin.layers(IMAGES[:2])}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_share_of_weights_is_rounded_and_another_seed_draws_others(seed: int, net: Path, tmp_path: Path) -> None:
    original = weights(net)
    _, all_rounded = made(net, "weights16", TwinMaking(IMAGES, tmp_path))
    assert all((value == original[name].astype(np.float16)).all() for name, value in weights(all_rounded).items())
    _, half = made(net, "weights16:50%", TwinMaking(IMAGES, tmp_path, seed))
    _, other = made(net, "weights16:50%", TwinMaking(IMAGES, tmp_path, seed + 1))
    changed = {name: value != original[name] for name, value in weights(half).items()}
    share = np.concatenate([one.ravel() for one in changed.values()]).mean()
    assert 0.4 < share < 0.6
    assert any((weights(other)[name] != value).any() for name, value in weights(half).items())


@pytest.mark.parametrize("twin", ["float16", "weights16", "int8", "int8-static", "openvino"])
def test_external_data_is_taken_along(twin: str, net: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    whole = onnx.load(str(net))
    onnx.save_model(
        whole, str(outside / "net.onnx"), save_as_external_data=True, location="net.data", size_threshold=100
    )
    made_of, path = made(outside / "net.onnx", twin, TwinMaking(IMAGES, tmp_path / "twins"))
    for file in outside.iterdir():
        file.unlink()
    again = load(str(path))
    assert torch.equal(again.target().predict(IMAGES), made_of.target().predict(IMAGES))
    assert torch.allclose(again.target().predict(IMAGES), lenet1().eval()(IMAGES).detach(), atol=1.0)


def test_where_nothing_can_be_quantised_the_line_says_so(tmp_path: Path) -> None:
    path = write_onnx(nn.Sequential(nn.Flatten(), nn.Tanh()), IMAGES[:2], tmp_path / "plain.onnx")
    with pytest.raises(ModelRefused, match=r"^--twin int8[^\n]*nothing in this model: choose another twin$"):
        load(str(path)).twin("int8", TwinMaking(IMAGES, tmp_path / "twins"))


def test_what_onnx_runtime_cannot_compute_with_is_refused_with_why(net: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match=r"^--twin bfloat16 cannot be made of ONNX: [^\n]*; use float16$"):
        load(str(net)).twin("bfloat16", TwinMaking(IMAGES, tmp_path))


def test_a_calibration_that_fails_is_one_line(tmp_path: Path) -> None:
    """Inputs that the model accepts in its shape, and cannot look up."""
    table = numpy_helper.from_array(np.ones((4, 3), np.float32), "table")
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["rows"]),
        helper.make_node("ReduceMean", ["rows"], ["scores"], axes=[1], keepdims=0),
    ]
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", 2])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 3])
    graph = helper.make_graph(nodes, "lookup", [tokens], [scores], [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save_model(model, str(tmp_path / "lookup.onnx"))
    with pytest.raises(ModelRefused, match=r"^--twin int8-static cannot be made \([^\n]*\): choose another twin$"):
        load(str(tmp_path / "lookup.onnx")).twin("int8-static", TwinMaking(torch.full((3, 2), 9), tmp_path / "twins"))
