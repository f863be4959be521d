"""Programs of PaddlePaddle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jostle.foreign import Crash, attempt
from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.paddle import signals
from jostle.frameworks.backends.program import PREDICT, Unsupported
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import INPUT, Graph, Leaf, Node


@pytest.mark.parametrize("operator", ["rnn", "lstm", "gru"])
def test_a_layer_whose_weights_are_computed_is_not_written(operator: str) -> None:
    """Layers are made before the model computes anything."""
    graph, paddle = single(operator, np.random.default_rng(0)), lowering_named("paddle")
    assert "_layer" in paddle.program(graph, PREDICT)
    (layer,) = graph.nodes
    given, weight, *others = layer.inputs
    computed = (Node("w", "neg", (weight,)), replace(layer, inputs=(given, "w", *others)))
    with pytest.raises(Unsupported, match="weights of their own"):
        paddle.program(replace(graph, nodes=computed), PREDICT)


def test_static_programs_are_not_asked_to_unfold_an_axis() -> None:
    """Paddle refuses it there, in words that say so."""
    graph = single("sliding_window", np.random.default_rng(0))
    assert "paddle.unfold" in lowering_named("paddle").program(graph, PREDICT)
    with pytest.raises(Unsupported, match="dynamic graphs only"):
        lowering_named("paddle-static").program(graph, PREDICT)


def test_where_is_of_the_dtypes_that_are_documented() -> None:
    condition = np.array([True, False])
    for dtype in ("float32", "bool", "int64", "uint8", "int8"):
        values = np.zeros(2, dtype)
        leaves = {"a": Leaf(INPUT, condition), "b": Leaf(INPUT, values), "c": Leaf(INPUT, values)}
        graph = Graph(leaves, (Node("y", "where", ("a", "b", "c")),), ("y",))
        if dtype.endswith("int8"):
            with pytest.raises(Unsupported, match=dtype):
                lowering_named("paddle").program(graph, PREDICT)
        else:
            assert "paddle.where(a, b, c)" in lowering_named("paddle").program(graph, PREDICT)


def test_an_epsilon_that_decides_between_two_cosine_similarities_is_not_given_to_paddle() -> None:
    graph, paddle = single("cosine_similarity", np.random.default_rng(0)), lowering_named("paddle")
    (node,) = graph.nodes
    small = replace(node, attributes={**node.attributes, "epsilon": 1e-8})
    assert "F.cosine_similarity" in paddle.program(replace(graph, nodes=(small,)), PREDICT)
    large = replace(node, attributes={**node.attributes, "epsilon": 1e-3})
    with pytest.raises(Unsupported, match="epsilon"):
        paddle.program(replace(graph, nodes=(large,)), PREDICT)


def test_a_failure_lies_where_the_library_calls_its_kernel_and_not_where_we_watch_it() -> None:
    def kernel() -> None:
        raise ValueError("no kernel")

    watched = signals._telling("relu", kernel, Node)
    crash = attempt(watched)
    assert isinstance(crash, Crash)
    assert crash.where == "test_paddle_programs.py:kernel"
    without_arguments = attempt(lambda: watched(1))
    assert isinstance(without_arguments, Crash)
    assert without_arguments.where == "test_paddle_programs.py:<lambda>"


@pytest.mark.parametrize(("dtype", "tiled"), [("float32", True), ("int64", True), ("uint8", False), ("int8", False)])
def test_tile_is_of_the_dtypes_that_are_documented(dtype: str, tiled: bool) -> None:
    leaves = {"x": Leaf(INPUT, np.zeros(2, dtype))}
    graph = Graph(leaves, (Node("y", "tile", ("x",), {"repeats": [2]}),), ("y",))
    for name in ("paddle", "paddle-static"):
        if tiled:
            assert "paddle.tile(x, [2])" in lowering_named(name).program(graph, PREDICT)
        else:
            with pytest.raises(Unsupported, match=dtype):
                lowering_named(name).program(graph, PREDICT)
