"""Programs of TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.program import PREDICT, Unsupported
from jostle.frameworks.graph import CONSTANT, INPUT, Graph, Leaf, Node


def adding(operator: str, width: int, count: int) -> Graph:
    """So many rows are added to three rows of this width."""
    leaves = {"x": Leaf(INPUT, np.zeros((3, width), np.float32))}
    places = (count, 1) if operator == "scatter_nd_add" else (count,)
    leaves["at"] = Leaf(CONSTANT, np.zeros(places, np.int64))
    leaves["more"] = Leaf(INPUT, np.ones((count, width), np.float32))
    attributes = {} if operator == "scatter_nd_add" else {"axis": 0}
    return Graph(leaves, (Node("y", operator, tuple(leaves), attributes),), ("y",))


@pytest.mark.parametrize("operator", ["index_add", "scatter_nd_add"])
def test_nothing_is_added_to_a_tensor_without_elements(operator: str) -> None:
    tensorflow = lowering_named("tensorflow")
    assert "tensor_scatter_nd_add(" in tensorflow.program(adding(operator, 2, 1), PREDICT)
    with pytest.raises(Unsupported, match="without elements"):
        tensorflow.program(adding(operator, 0, 1), PREDICT)
