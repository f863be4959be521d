"""Paddle computes what the operators mean; its programs run in a process of their own."""

import re

import numpy as np
import pytest

from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN, cotangents_of, differentiated
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import PARAMETER, Graph, Leaf, Node, Training
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from running_programs import child_of

# Paddle 3.3 raises where the output padding is as large as the stride.
RAISES = {"conv_transpose": "im2col"}


@pytest.fixture(scope="module")
def child():
    lowering = "jostle.frameworks.backends.paddle.programs:Paddle"
    with child_of(lowering, "jostle.frameworks.backends.paddle.signals") as process:
        yield process


def drawn(name, draw):
    return single(name, np.random.default_rng([draw, *name.encode()]))


def one_node(operator, attributes=None, **arrays):
    leaves = {name: Leaf("input", np.asarray(array)) for name, array in arrays.items()}
    return Graph(leaves, (Node("y", operator, tuple(arrays), attributes or {}),), ("y",))


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_gives_the_inferred_type_or_is_unsupported(child, name):
    for draw in range(3):
        graph = drawn(name, draw)
        answer = child.run(graph, PREDICT)
        if "unsupported" in answer or ("error" in answer and re.search(RAISES.get(name, "(?!)"), answer["error"])):
            continue
        assert "error" not in answer, answer["error"]
        assert answer["signals"]
        for output in graph.outputs:
            array = answer["result"][output]
            assert (array.shape, array.dtype.name) == (types_of(graph)[output].shape, types_of(graph)[output].dtype)


def test_values_are_those_of_numpy(child):
    x = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    cases = [
        (one_node("relu", x=x), np.maximum(x, 0)),
        (one_node("sum", {"axes": [0, 2], "keepdims": False}, x=x), x.sum((0, 2))),
        (one_node("var", {"axes": [1], "keepdims": True, "correction": 1}, x=x), x.var(1, ddof=1, keepdims=True)),
        (one_node("transpose", {"permutation": [2, 0, 1]}, x=x), x.transpose(2, 0, 1)),
        (one_node("slice", {"starts": [1, 2, 3], "sizes": [1, 2, 2], "steps": [1, -2, -1]}, x=x), x[1:2, ::-2, 3:1:-1]),
        (
            one_node("pad", {"mode": "circular", "before": [0, 0, 2], "after": [0, 0, 1], "value": 0.0}, x=x),
            np.pad(x, ((0, 0), (0, 0), (2, 1)), mode="wrap"),
        ),
        (one_node("topk_values", {"k": 2, "axis": 1, "largest": False}, x=x), np.sort(x, 1)[:, :2]),
    ]
    for graph, wanted in cases:
        np.testing.assert_allclose(child.run(graph, PREDICT)["result"]["y"], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["tanh", "conv", "linear", "take", "layer_norm", "max", "isnan"])
def test_gradients_have_the_types_of_their_leaves(child, name):
    graph = drawn(name, 3)
    answer = child.run(graph, GRADIENT)
    if not types_of(graph)["y"].is_float:
        assert "unsupported" in answer
        return
    for leaf in differentiated(graph):
        gradient = answer["result"][f"d_{leaf}"]
        assert (gradient.shape, gradient.dtype) == (graph.leaves[leaf].array.shape, graph.leaves[leaf].array.dtype)


def test_the_gradient_of_a_square_is_twice_the_input_times_the_cotangent(child):
    graph = one_node("square", x=np.array([1.0, -2.0, 3.0]))
    gradient = child.run(graph, GRADIENT)["result"]["d_x"]
    np.testing.assert_allclose(gradient, 2 * graph.leaves["x"].array * cotangents_of(graph, 0)["cotangent_y"])


def trained(optimiser, settings, penalty="none"):
    """Least squares of one weight: y = w with loss (w - 1)²."""
    leaves = {"w": Leaf(PARAMETER, np.array([3.0], np.float32)), "x": Leaf("input", np.array([1.0], np.float32))}
    training = Training("mse", np.array([1.0], np.float32), penalty, 0.5, optimiser, settings, 2)
    return Graph(leaves, (Node("y", "mul", ("x", "w")),), ("y",), training)


def test_training_follows_the_formulas(child):
    sgd = child.run(trained("sgd", {"rate": 0.1, "momentum": 0.0, "nesterov": 0.0}), TRAIN)["result"]
    np.testing.assert_allclose(sgd["loss"], [4.0, 2.56], rtol=1e-6)
    np.testing.assert_allclose(sgd["w"], [2.28], rtol=1e-6)
    penalised = child.run(trained("sgd", {"rate": 0.1, "momentum": 0.0, "nesterov": 0.0}, "l2"), TRAIN)["result"]
    np.testing.assert_allclose(penalised["loss"][0], 4.0 + 0.5 * 9.0, rtol=1e-6)
    adam = child.run(trained("adam", {"rate": 0.1, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3}), TRAIN)["result"]
    np.testing.assert_allclose(adam["loss"][1], (3.0 - 0.1 * 4 / (4 + 1e-3) - 1.0) ** 2, rtol=1e-5)


def test_optimisers_with_another_formula_are_unsupported(child):
    assert "unsupported" in child.run(trained("rmsprop", {"rate": 0.1, "rho": 0.9, "epsilon": 1e-8}), TRAIN)
