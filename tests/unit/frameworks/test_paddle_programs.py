"""Programs of PaddlePaddle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.program import PREDICT, Unsupported
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import Node


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
