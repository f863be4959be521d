"""What of PyTensor no other lowering has: the nodes of its rewritten graph as signals, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jostle.frameworks.backends.program import PREDICT, Unsupported, arrays_of
from jostle.frameworks.backends.pytensor.programs import PytensorPrograms
from jostle.frameworks.backends.pytensor.signals import prepare, watched
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import INPUT, Graph, Leaf, Node


def test_signals_name_the_operators_of_the_rewritten_graph() -> None:
    prepare()
    graph = Graph({"x": Leaf(INPUT, np.ones((2, 3)))}, (Node("y", "softplus", ("x",)),), ("y",))
    namespace: dict[str, Any] = arrays_of(graph, PREDICT)
    program = PytensorPrograms().program(graph, PREDICT)
    assert "pytensor:Elemwise:Softplus:float64" in watched(lambda: exec(program, namespace), namespace)


def test_what_is_missing_is_told_by_name() -> None:
    with pytest.raises(Unsupported, match="conv"):
        PytensorPrograms().program(single("conv", np.random.default_rng(0)), PREDICT)
