"""PyTensor runs every operator that it has as the catalogue types it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jostle.frameworks.signals import pytensor_signals

from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN, Unsupported, arrays_of
from jostle.frameworks.backends.pytensor.programs import EXPRESSIONS, PytensorPrograms
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import INPUT, Graph, Leaf, Node
from jostle.frameworks.operators.all_operators import OPERATORS, types_of

# What PyTensor 3.0 gives as float64 though all it was given is float32, or refuses: findings, not mistakes of ours.
WIDENED = {"var", "std"}
REFUSED = {"cast"}


@pytest.fixture(scope="module", autouse=True)
def _prepared() -> None:
    pytensor_signals.prepare()


def run(graph: Graph, phase: str) -> dict[str, Any]:
    namespace: dict[str, Any] = arrays_of(graph, phase)
    exec(PytensorPrograms().program(graph, phase), namespace)
    return namespace


def of(operator: str, arrays: list[Any], **attributes: Any) -> Graph:
    leaves = {name: Leaf(INPUT, np.asarray(array)) for name, array in zip("xabcde", arrays, strict=False)}
    return Graph(leaves, (Node("y", operator, tuple(leaves), attributes),), ("y",))


@pytest.mark.parametrize("name", sorted(EXPRESSIONS.keys() - REFUSED))
def test_an_operator_gives_the_type_that_the_catalogue_infers_in_pytensor(name: str) -> None:
    graph = single(name, np.random.default_rng([1, *name.encode()]))
    try:
        result = run(graph, PREDICT)["result"]["y"]
    except Unsupported:
        return
    type_ = types_of(graph)["y"]
    assert result.shape == type_.shape
    assert result.dtype.name == type_.dtype or name in WIDENED


def test_every_expression_is_of_an_operator() -> None:
    assert EXPRESSIONS.keys() <= OPERATORS.keys()
    assert len(EXPRESSIONS) >= 120


X = np.random.default_rng(0).standard_normal((2, 3, 4))
VALUES = (
    (of("cumsum", [X], axis=1, exclusive=False, reverse=True), np.cumsum(X[:, ::-1], axis=1)[:, ::-1]),
    (of("slice", [X], starts=[0, 2, 3], sizes=[2, 2, 2], steps=[1, -2, -2]), X[0:2, 2::-2, 3::-2]),
    (of("topk_values", [X], k=2, axis=2, largest=True), -np.sort(-X, axis=2)[:, :, :2]),
    (of("softmax", [X], axis=1), np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    (of("linear", [X, np.ones((2, 4)), np.arange(2.0)]), X @ np.ones((4, 2)) + np.arange(2.0)),
    (of("scatter", [np.zeros(3), np.array([1, 1, 2]), np.ones(3)], axis=0, reduction="add"), np.array([0.0, 2, 1])),
)


@pytest.mark.parametrize(("graph", "expected"), VALUES, ids=[graph.nodes[0].operator for graph, _ in VALUES])
def test_values_of_pytensor_are_those_of_numpy(graph: Graph, expected: Any) -> None:
    np.testing.assert_allclose(run(graph, PREDICT)["result"]["y"], expected, rtol=1e-12, atol=1e-12)


def test_a_gradient_of_pytensor_weighs_every_output_with_its_cotangent() -> None:
    nodes = (Node("y", "square", ("x",)), Node("z", "neg", ("y",)), Node("s", "isnan", ("x",)))
    graph = Graph({"x": Leaf(INPUT, X)}, nodes, ("y", "z", "s"))
    namespace = run(graph, GRADIENT)
    expected = 2 * X * (namespace["cotangent_y"] - namespace["cotangent_z"])
    np.testing.assert_allclose(namespace["result"]["d_x"], expected)


def test_a_leaf_that_no_output_reads_has_a_zero_gradient() -> None:
    graph = Graph({"x": Leaf(INPUT, X)}, (Node("s", "isnan", ("x",)),), ("s",))
    np.testing.assert_array_equal(run(graph, GRADIENT)["result"]["d_x"], np.zeros_like(X))


def test_pytensor_does_not_train_and_has_no_convolution() -> None:
    with pytest.raises(Unsupported, match="train"):
        PytensorPrograms().program(of("abs", [X]), TRAIN)
    with pytest.raises(Unsupported, match="conv"):
        PytensorPrograms().program(single("conv", np.random.default_rng(0)), PREDICT)


def test_signals_name_the_operators_of_the_rewritten_graph() -> None:
    graph = of("softplus", [X])
    namespace: dict[str, Any] = arrays_of(graph, PREDICT)
    program = PytensorPrograms().program(graph, PREDICT)
    signals = pytensor_signals.watched(lambda: exec(program, namespace), namespace)
    assert "pytensor:Elemwise:Softplus:float64" in signals
