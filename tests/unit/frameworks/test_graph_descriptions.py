"""Models as descriptions: what goes in comes out, and what cannot run is told."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from jostle.frameworks.drawing import single
from jostle.frameworks.graph import Graph, Invalid, Leaf, Node, decode, encode, encode_readably, graph_as_json
from jostle.frameworks.models import MODELS
from jostle.frameworks.operators.all_operators import FUNCTIONS, LAYERS, OPERATORS, SHAPING, types_of
from jostle.frameworks.operators.elementwise import ELEMENTWISE
from jostle.frameworks.operators.reductions import REDUCTIONS
from jostle.frameworks.training import check_training


def test_no_two_operators_have_one_name() -> None:
    assert len(OPERATORS) == len([*ELEMENTWISE, *REDUCTIONS, *SHAPING, *LAYERS, *FUNCTIONS]) == 305


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_a_graph_of_any_operator_is_valid_and_survives_being_written(name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        graph = single(name, rng, specials=0.3)
        types_of(graph)
        assert encode(decode(encode(graph))) == encode(graph) == encode(decode(encode_readably(graph)))


def test_an_attribute_without_bound_survives_being_written() -> None:
    leaves = {"x": Leaf("input", np.ones((2, 3), np.float32)), "z": Leaf("input", np.ones((2, 3), np.float32))}
    graph = Graph(leaves, (Node("y", "cdist", ("x", "z"), {"p": float("inf")}),), ("y",))
    for written in (encode(graph), encode_readably(graph)):
        again = decode(written)
        assert again.nodes == graph.nodes and types_of(again) == types_of(graph)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_models_to_begin_from_are_valid_and_can_be_trained(name: str) -> None:
    graph = MODELS[name](np.random.default_rng(0))
    assert graph.training is not None
    check_training(graph, types_of(graph))
    assert decode(encode(graph)).digest() == graph.digest()


def a_graph() -> Graph:
    return Graph({"x": Leaf("input", np.ones((2, 3), np.float32))}, (Node("y", "relu", ("x",)),), ("y",))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": (Node("y", "rellu", ("x",)),)}, "did you mean 'relu'"),
        ({"nodes": (Node("y", "relu", ("z",)),)}, "reads z too early"),
        ({"nodes": (Node("y", "relu", ("x",), {"alpha": 1.0}),)}, "takes no attributes"),
        ({"nodes": (Node("y", "cast", ("x",), {"to": "float8"}),)}, "may not be 'float8'"),
        ({"nodes": (Node("y", "transpose", ("x",), {"permutation": [0, 0]}),)}, "is no order"),
        ({"nodes": (Node("y", "matmul", ("x", "x")),)}, "cannot be multiplied"),
        ({"nodes": (Node("x", "relu", ("x",)),)}, "two tensors are named x"),
        ({"outputs": ("z",)}, "computed by no node"),
    ],
)
def test_what_cannot_run_is_told(change: dict[str, object], reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        types_of(replace(a_graph(), **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.pop("nodes"),
        lambda told: told["nodes"][0].update(name="__import__('os')"),
        lambda told: told["nodes"][0].update(attributes={"a": "x'); import os"}),
        lambda told: told["nodes"][0].update(attributes={"a": {"b": 1}}),
        lambda told: told["leaves"]["x"].update(dtype="object"),
        lambda told: told["leaves"]["x"].update(shape=[2, 4]),
        lambda told: told["leaves"]["x"].update(role="pickle"),
        lambda told: told["leaves"].update({"X y": told["leaves"]["x"]}),
        lambda told: told.update(nodes=3),
    ],
)
def test_a_description_that_is_none_is_refused(damage: object) -> None:
    told = graph_as_json(a_graph())
    damage(told)  # type: ignore[operator]
    with pytest.raises(Invalid):
        decode(json.dumps(told))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"leaves": []}', "[" * 100_000])
def test_a_text_that_is_no_description_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        decode(text)
