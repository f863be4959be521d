"""A stranger's .onnx names no file outside its folder, wherever in it a tensor is, and claims no more than it holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jostle.untrusted.onnx_model import checked_onnx, unknown_domains
from security.damage import refusals
from security.model_payloads import NESTED, ONNX_PAYLOADS, SECRET, adding, external_tensor, nested_onnx, varint

onnx = pytest.importorskip("onnx")
NEWEST = 21


def written(path: Path, model: Any) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def inline(**fields: Any) -> Any:
    """The model with an initializer of two numbers, fields of which are overwritten."""
    tensor = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [2], SECRET)
    for name, value in fields.items():
        tensor.ClearField(name)
        getattr(tensor, name).extend(value) if isinstance(value, list) else setattr(tensor, name, value)
    return adding(tensor)


def network() -> Any:
    """Convolution, normalisation, a branch and a function, as exporters write them."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    rng = np.random.default_rng(0)
    weights = {"k": (4, 3, 3, 3), "s": (4,), "b": (4,), "m": (4,), "v": (4,)}
    stored = [onnx.numpy_helper.from_array(rng.random(shape, np.float32), name) for name, shape in weights.items()]
    halves = onnx.numpy_helper.from_array(np.ones((2, 4), np.float16), "halves")
    branch = [
        helper.make_graph(
            [helper.make_node(kind, ["n"], [f"{kind}_o"])],
            kind,
            [],
            [helper.make_tensor_value_info(f"{kind}_o", float32, None)],
        )
        for kind in ("Relu", "Tanh")
    ]
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["c"]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        helper.make_node("ReduceMax", ["n"], ["r"], keepdims=0),
        helper.make_node("Cast", ["r"], ["positive"], to=onnx.TensorProto.BOOL),
        helper.make_node("If", ["positive"], ["i"], then_branch=branch[0], else_branch=branch[1]),
        helper.make_node("Twice", ["i"], ["y"], domain="own"),
    ]
    twice = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", float32, ["N", 3, 8, 8])],
        [helper.make_tensor_value_info("y", float32, ["N", 4, 6, 6])],
        [*stored, halves],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=[twice], ir_version=8)


def test_an_honest_model_passes_unchanged(tmp_path: Path) -> None:
    model = network()
    onnx.checker.check_model(model)
    assert checked_onnx(written(tmp_path / "m.onnx", model), NEWEST) == model


def test_external_data_beside_the_model_passes_and_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(network(), path, save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    model = checked_onnx(path, NEWEST)
    external = [one for one in model.graph.initializer if one.data_location == onnx.TensorProto.EXTERNAL]
    assert len(external) == 6 and not any(one.raw_data for one in external)


@pytest.mark.slow
@pytest.mark.parametrize("external", [False, True])
def test_what_torch_exports_passes(external: bool, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)]
    path, example = tmp_path / "m.onnx", (torch.zeros(2, 3, 8, 8),)
    torch.onnx.export(nn.Sequential(*layers).eval(), example, path, dynamo=True, external_data=external, verbose=False)
    model = checked_onnx(path, NEWEST)
    assert (tmp_path / "m.onnx.data").exists() == external and unknown_domains(model) == ()


@pytest.mark.parametrize("place", NESTED)
def test_an_external_tensor_inside_the_folder_passes_wherever_it_is(place: str, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(SECRET.tobytes())
    checked_onnx(written(tmp_path / "m.onnx", nested_onnx(place, "w.bin")), NEWEST)


@pytest.mark.parametrize("name", ONNX_PAYLOADS)
def test_what_leads_out_of_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    path = ONNX_PAYLOADS[name](tmp_path)
    with pytest.raises(ValueError, match=r"names the file|compiled code"):
        checked_onnx(path, NEWEST)


def test_missing_external_data_is_named_with_the_fix(tmp_path: Path) -> None:
    path = written(tmp_path / "m.onnx", adding(external_tensor("weights.bin")))
    with pytest.raises(ValueError, match=r"'weights.bin' is missing: put it beside the model"):
        checked_onnx(path, NEWEST)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"offset": "8"}, "needs 8 bytes at 8"),
        ({"length": "4"}, "claims 4"),
        ({"length": "12"}, "claims 12"),
        ({"offset": "-8"}, "offset '-8'"),
        ({"offset": "0x0"}, "offset '0x0'"),
        ({"length": "9" * 5000}, "length '999"),
        ({"basepath": "/etc"}, "unknown way"),
        ({"prepacked_0": "key|0;8;1"}, "unknown way"),
    ],
)
def test_external_data_lies_inside_its_file(entries: dict[str, str], reason: str, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(SECRET.tobytes())
    path = written(tmp_path / "m.onnx", adding(external_tensor("w.bin", **entries)))
    with pytest.raises(ValueError, match=reason):
        checked_onnx(path, NEWEST)


def test_a_location_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    tensor = external_tensor("w.bin")
    tensor.external_data.add(key="location", value="../secret.bin")
    (tmp_path / "w.bin").write_bytes(SECRET.tobytes())
    with pytest.raises(ValueError, match="unknown way"):
        checked_onnx(written(tmp_path / "m.onnx", adding(tensor)), NEWEST)


def test_a_pipe_or_a_folder_as_external_data_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "m.onnx", adding(external_tensor("w.bin")))
    os.mkfifo(tmp_path / "w.bin")
    with pytest.raises(ValueError, match="pipe"):
        checked_onnx(path, NEWEST)
    (tmp_path / "w.bin").unlink()
    (tmp_path / "w.bin").mkdir()
    with pytest.raises(ValueError, match="folder"):
        checked_onnx(path, NEWEST)


def test_a_link_to_a_model_is_followed_only_without_external_data(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(SECRET.tobytes())
    for model in (inline(), adding(external_tensor("w.bin"))):
        target = written(tmp_path / "real.onnx", model)
        link = tmp_path / "m.onnx"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        if model.graph.initializer[0].external_data:
            with pytest.raises(ValueError, match="itself a link"):
                checked_onnx(link, NEWEST)
        else:
            checked_onnx(link, NEWEST)


def test_an_opset_or_format_that_is_too_new_is_named(tmp_path: Path) -> None:
    model = inline()
    model.opset_import[0].version = 99
    with pytest.raises(ValueError, match="opset 99, and at most 21 is known: export it with opset 21"):
        checked_onnx(written(tmp_path / "m.onnx", model), NEWEST)
    model = inline()
    model.ir_version = 1000
    with pytest.raises(ValueError, match="version 1000 of the ONNX format"):
        checked_onnx(written(tmp_path / "m.onnx", model), NEWEST)


@pytest.mark.parametrize(
    "model",
    [
        lambda: inline(dims=[10**9, 10**9]),
        lambda: inline(dims=[3]),
        lambda: inline(dims=[-2]),
        lambda: inline(dims=[1] * 1000),
        lambda: inline(dims=[2**62, 4]),
        lambda: inline(data_type=onnx.TensorProto.COMPLEX64),
    ],
)
def test_a_tensor_claims_no_more_values_than_it_has(model: Callable[[], Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="its tensor 'w'"):
        checked_onnx(written(tmp_path / "m.onnx", model()), NEWEST)


@pytest.mark.parametrize("kind", sorted(set(onnx.TensorProto.DataType.values()) - {0, 8}))
def test_a_tensor_of_each_kind_of_numbers_passes(kind: int, tmp_path: Path) -> None:
    tensor = onnx.helper.make_tensor("w", kind, [5], np.ones(5, onnx.helper.tensor_dtype_to_np_dtype(kind)))
    checked_onnx(written(tmp_path / "m.onnx", adding(tensor)), NEWEST)
    array = np.ones((3, 3), onnx.helper.tensor_dtype_to_np_dtype(kind))
    checked_onnx(written(tmp_path / "m.onnx", adding(onnx.numpy_helper.from_array(array, "w"))), NEWEST)


def test_a_sparse_tensor_that_stands_for_terabytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(SECRET.tobytes())
    model = nested_onnx("values of a sparse tensor", "w.bin")
    model.graph.sparse_initializer[0].dims[:] = [10**6, 10**6]
    with pytest.raises(ValueError, match="sparse tensor 'w' stands for more"):
        checked_onnx(written(tmp_path / "m.onnx", model), NEWEST)


def calling(*bodies: list[str]) -> Any:
    """A model with functions F0, F1... whose nodes call these."""
    helper, model = onnx.helper, inline()
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    for number, body in enumerate(bodies):
        nodes = [helper.make_node(name, ["a"], ["b"], domain="own") for name in body]
        model.functions.append(helper.make_function("own", f"F{number}", ["a"], ["b"], nodes, opsets))
    model.graph.node.append(helper.make_node("F0", ["x"], ["z"], domain="own"))
    model.opset_import.append(opsets[1])
    return model


@pytest.mark.parametrize(
    ("bodies", "reason"),
    [
        ([["F0"]], "calls itself"),
        ([["F1"], ["F2"], ["F0"]], "calls itself"),
        ([[f"F{n + 1}"] for n in range(3000)], "100 deep"),
        ([[f"F{n + 1}"] * 10 for n in range(20)], "more than 1000000 nodes"),
    ],
)
def test_functions_that_never_end_are_refused(bodies: list[list[str]], reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        checked_onnx(written(tmp_path / "m.onnx", calling(*bodies)), NEWEST)


def test_graphs_nested_a_thousand_deep_are_refused(tmp_path: Path) -> None:
    content = b""
    for _ in range(1000):  # GraphProto.node, NodeProto.attribute, AttributeProto.g
        for field in (6, 5, 1):
            content = bytes([field << 3 | 2]) + varint(len(content)) + content
    (tmp_path / "m.onnx").write_bytes(b"\x3a" + varint(len(content)) + content)
    with pytest.raises(ValueError, match="nested too deeply"):
        checked_onnx(tmp_path / "m.onnx", NEWEST)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"version https://git-lfs.github.com/spec/v1\n", b"<html></html>", b"\x08\x08", bytes(9)):
        (tmp_path / "m.onnx").write_bytes(content)
        with pytest.raises(ValueError, match=r"empty|not an ONNX model"):
            checked_onnx(tmp_path / "m.onnx", NEWEST)
    (tmp_path / "m.onnx").write_bytes(b"\x18\0\0\0ORTM" + bytes(40))
    with pytest.raises(ValueError, match="Runtime's own format"):
        checked_onnx(tmp_path / "m.onnx", NEWEST)


def test_a_node_that_names_a_library_is_refused(tmp_path: Path) -> None:
    model = inline()
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("shared_library", "evil.so"))
    with pytest.raises(ValueError, match="'shared_library'"):
        checked_onnx(written(tmp_path / "m.onnx", model), NEWEST)


def test_domains_that_nobody_defines_are_named() -> None:
    model = network()
    assert unknown_domains(model) == ()
    model.graph.node[0].domain = "ai.someone"
    model.graph.node[5].op_type = "Thrice"
    assert unknown_domains(model) == ("ai.someone", "own")


@pytest.mark.parametrize("external", [False, True])
def test_a_damaged_model_is_refused_or_passes(external: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(network(), path, save_as_external_data=external, location="m.data", size_threshold=0)
    refused = refusals(path, path.read_bytes(), 900, lambda one: checked_onnx(one, NEWEST))
    assert 100 < refused < 900
