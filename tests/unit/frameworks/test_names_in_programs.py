"""Tensors with names that programs use for something else: refused in descriptions, renamed where imported."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from jostle.frameworks.backends.all_backends import LOWERINGS
from jostle.frameworks.backends.jax.functions import DEFINITIONS
from jostle.frameworks.backends.onnx.programs import ONNXRUNTIME
from jostle.frameworks.backends.program import PREDICT, Unsupported, arrays_of
from jostle.frameworks.backends.torch.programs import EAGER
from jostle.frameworks.drawing import single
from jostle.frameworks.edits.parameters import drawn_training
from jostle.frameworks.graph import PARAMETER, Graph, Invalid, Leaf, Node, decode, encode, fresh_names, graph_as_json
from jostle.frameworks.importing.onnx_files import graph_from_onnx
from jostle.frameworks.importing.torch_modules import graph_from_module
from jostle.frameworks.models import MODELS
from jostle.frameworks.names import RESERVED, is_usable, usable_name
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.reduction.script import script

HOSTILE = (
    *("model", "np", "torch", "lambda", "result", "nodes", "session", "loss", "target", "compiled", "lstm", "sum"),
    *("d_x", "cotangent_y", "y_layer", "parameters", "class", "import os", "9", "", "_", "Ä", "x" * 500),
)
# Functions that a program defines without anything of the graph in them.
APART = {"sample", "over_time", *DEFINITIONS}


def trained(graph: Graph, rng: np.random.Generator) -> Graph:
    output = types_of(graph)[graph.outputs[0]]
    trainable = graph.named(PARAMETER) and output.is_float and output.size
    return Graph(graph.leaves, graph.nodes, graph.outputs, drawn_training(output, rng) if trainable else None)


def programs_of(graph: Graph) -> Iterator[str]:
    for lowering in LOWERINGS.values():
        for phase in lowering.phases:
            try:
                yield lowering.program(graph, phase)
            except Unsupported:
                continue


def names_in(tree: ast.AST) -> Iterator[str]:
    """All that are bound or read, also inside functions, but in those that see nothing of the graph."""
    match tree:
        case ast.FunctionDef(name=name):
            yield name
            if name in APART:
                return
        case ast.Name(id=name) | ast.arg(arg=name):
            yield name
        case ast.alias(name=name, asname=short):
            yield short or name.partition(".")[0]
    for part in ast.iter_child_nodes(tree):
        yield from names_in(part)


@pytest.mark.parametrize("kind", [*sorted(OPERATORS), *sorted(MODELS)])
def test_whatever_a_program_names_that_is_no_tensor_is_reserved(kind: str) -> None:
    rng = np.random.default_rng(5)
    graph = trained(single(kind, rng) if kind in OPERATORS else MODELS[kind](rng), rng)
    tensors = {*graph.leaves, *(node.name for node in graph.nodes)}
    found = {name for program in programs_of(graph) for name in names_in(ast.parse(program))} - tensors
    assert [name for name in found if is_usable(name)] == []


def test_whatever_a_script_names_that_is_no_tensor_is_reserved() -> None:
    graph = Graph({"x": Leaf("input", np.arange(300, dtype=np.float32))}, (Node("y", "relu", ("x",)),), ("y",))
    written = script(graph, PREDICT, EAGER, {"y": graph.leaves["x"].array}, None)
    assert [name for name in {*names_in(ast.parse(written))} - {"x", "y"} if is_usable(name)] == []


def test_no_name_of_ours_is_reserved() -> None:
    assert not any(name[-1].isdigit() for name in RESERVED - {"base64"})
    assert all(map(is_usable, ("x", "y", "y_a", "x1", "w1", "s1", *(f"{operator}1" for operator in OPERATORS))))


def test_fresh_names_are_usable_and_no_beginning_of_what_is_there() -> None:
    leaf = Leaf("input", np.ones(2, np.float32))
    graph = Graph({"x": leaf, "relu2_a": leaf}, (Node("relu1", "relu", ("x",)),), ("relu1",))
    assert next(fresh_names(graph, "relu")) == "relu3"
    names = fresh_names(graph, "base")
    assert "base64" not in [next(names) for _ in range(70)]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_is_made_of_any_text(text: str) -> None:
    first = usable_name(text, ())
    second = usable_name(text, {first})
    assert is_usable(first) and is_usable(second) and first != second


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("old", ["x", "y"])
def test_a_description_with_such_a_name_is_refused(name: str, old: str) -> None:
    graph = Graph({"x": Leaf("input", np.ones(2, np.float32))}, (Node("y", "relu", ("x",)),), ("y",))
    told = json.dumps(graph_as_json(graph)).replace(json.dumps(old), json.dumps(name))
    with pytest.raises(Invalid, match=r"is a name that generated programs use for something else|is no name"):
        decode(told)


def result_of(graph: Graph, lowering: Any) -> Any:
    namespace: dict[str, Any] = dict(arrays_of(graph, PREDICT))
    exec(lowering.program(graph, PREDICT), namespace)
    return namespace["result"][graph.outputs[0]]


def check_everywhere(graph: Graph, expected: Any) -> None:
    graph = decode(encode(trained(graph, np.random.default_rng(0))))
    for program in programs_of(graph):
        compile(program, "<program>", "exec")
    for lowering in (EAGER, ONNXRUNTIME):
        np.testing.assert_allclose(result_of(graph, lowering), expected, rtol=1e-5)


def test_onnx_files_with_such_names_become_programs_that_run(tmp_path: Path) -> None:
    weight = np.array([2.0, 3.0], np.float32)
    for number, (given, held, computed) in enumerate(zip(HOSTILE, HOSTILE[1:], HOSTILE[2:], strict=False)):
        if "" in (given, held, computed):
            continue
        value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in (given, computed)]
        nodes = [helper.make_node("Mul", [given, held], [computed])]
        graph = helper.make_graph(nodes, "g", value[:1], value[1:], [numpy_helper.from_array(weight, held)])
        path = tmp_path / f"{number}.onnx"
        opset = [helper.make_opsetid("", 18)]
        path.write_bytes(helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString())
        onnx.checker.check_model(onnx.load(path))
        imported = graph_from_onnx(path, np.random.default_rng(0))
        (name,) = imported.named("input")
        check_everywhere(imported, imported.leaves[name].array * weight)


class Named(nn.Module):
    """With parameters of such names, and an input of one."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("model", "np", "result", "target", "loss", "d_x", "y_layer"):
            self.register_parameter(name, nn.Parameter(torch.full((2,), 2.0)))

    def forward(self, torch: Tensor) -> Tensor:
        for parameter in self.parameters():
            torch = torch * parameter
        return torch.sum(0, keepdim=True)


def test_modules_with_such_names_become_programs_that_run() -> None:
    check_everywhere(graph_from_module(Named(), torch.ones(2)), [256.0])
