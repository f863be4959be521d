"""What a campaign of frameworks begins from: small models, and one line for all that is none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from jostle.errors import ModelRefused, UsageError
from jostle.frameworks import size_limit
from jostle.frameworks.campaign.seed_graphs import seed_graphs
from jostle.frameworks.graph import Graph, Leaf, Node, encode, graph_as_json
from jostle.frameworks.importing.onnx_files import graph_from_onnx
from jostle.frameworks.importing.torch_modules import graph_from_module


def refusal(spec: Path | str) -> str:
    with pytest.raises(ModelRefused) as refused:
        seed_graphs([str(spec)], [], 0)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def described(path: Path, shape: tuple[int, ...], *nodes: Node) -> Path:
    path.write_bytes(encode(Graph({"x": Leaf("input", np.zeros(shape, np.int32))}, nodes, (nodes[-1].name,))))
    return path


def test_a_model_may_be_as_large_as_memory_is_enough_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = described(tmp_path / "x.json", (2**20 + 1,), Node("y", "neg", ("x",)))
    assert list(seed_graphs([str(path)], [], 0)) == [str(path)]
    monkeypatch.setattr(size_limit, "most_memory", lambda: 2**21 * size_limit.BYTES)
    assert "its tensors have 2,097,154 elements, and this machine's memory is enough to compare 2,097,152" in refusal(
        path
    )


def test_a_seed_that_computes_something_large_is_refused(tmp_path: Path) -> None:
    wide = Node("y", "expand", ("x",), {"shape": [2**31, 2**30]})
    assert "its tensors have" in refusal(described(tmp_path / "x.json", (1, 1), wide))


def test_all_unknown_operators_are_told(tmp_path: Path) -> None:
    path = described(tmp_path / "x.json", (2,), Node("y", "rellu", ("x",)), Node("z", "unheard_of", ("y",)))
    told = refusal(path)
    assert "did you mean 'relu'" in told and "unheard_of" in told


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{", b"[[[", b"3", b'{"leaves": {"x": 1}}', b"[" * 100_000])
def test_a_file_that_describes_nothing_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert str(path) in refusal(path)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    assert "not a regular file" in refusal(tmp_path)
    (tmp_path / "x.json").unlink()
    (tmp_path / "x.json").symlink_to("x.json")
    refusal(tmp_path)


def test_numbers_and_lists_in_each_others_place_are_refused(tmp_path: Path) -> None:
    wrong = described(tmp_path / "x.json", (2, 2), Node("y", "sum", ("x",), {"axes": [0], "keepdims": False}))
    told = json.loads(wrong.read_bytes())
    told["nodes"][0]["attributes"]["axes"] = -1
    wrong.write_text(json.dumps(told))
    assert "describes no graph that can run" in refusal(wrong)


@pytest.mark.parametrize("returned", ["3", "()", "(nn.ReLU(),)", "(nn.ReLU(), 3)", "(nn.ReLU(), torch.ones(2), 3)"])
def test_a_function_must_return_a_module_and_an_example(tmp_path: Path, returned: str) -> None:
    path = tmp_path / "models.py"
    path.write_text(f"import torch\nfrom torch import nn\n\n\ndef made():\n    return {returned}\n")
    assert "must return (module, example input)" in refusal(f"{path}:made")


class Failing(nn.Module):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def forward(self, x: Tensor) -> Tensor:
        raise self.error


@pytest.mark.parametrize("error", [OSError("no such file"), KeyError("x"), SystemExit(3), AssertionError()])
def test_a_module_that_fails_is_refused(error: BaseException) -> None:
    with pytest.raises(ModelRefused, match=r"torch\.export refuses Failing"):
        graph_from_module(Failing(error), torch.ones(2))


class Constant(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        return x + 1, 3


def test_a_module_that_returns_a_number_is_refused() -> None:
    with pytest.raises(ModelRefused, match="returns something that is no tensor"):
        graph_from_module(Constant(), torch.ones(2))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.complex64])
def test_a_module_of_another_dtype_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(ModelRefused, match=f"is of {str(dtype).removeprefix('torch.')}, not of float32"):
        graph_from_module(nn.Linear(2, 2, dtype=dtype), torch.ones(1, 2, dtype=dtype))


def test_arithmetic_of_shapes_that_onnx_cannot_do_is_refused(tmp_path: Path) -> None:
    held = {"shape": np.array([2, 3]), "index": np.array(7)}
    nodes = [
        helper.make_node("Gather", ["shape", "index"], ["size"]),
        helper.make_node("Expand", ["x", "size"], ["y"]),
    ]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    arrays = [numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], arrays)
    path = tmp_path / "x.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    with pytest.raises(UsageError, match="cannot be read at Gather"):
        graph_from_onnx(path, np.random.default_rng(0))


def test_a_model_of_ours_can_be_written_and_begun_from(tmp_path: Path) -> None:
    told = graph_as_json(seed_graphs(["mlp"], [], 0)["mlp"])
    (tmp_path / "mlp.json").write_text(json.dumps(told))
    assert list(seed_graphs([str(tmp_path)], [], 0)) == ["mlp.json"]
