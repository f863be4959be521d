"""Programs of PaddlePaddle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jostle.frameworks.backends.all_backends import lowering_named
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
