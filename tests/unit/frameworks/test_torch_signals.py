from typing import Any

import numpy as np

from jostle.frameworks.drawing import single
from jostle.frameworks.graph import Graph, Leaf, Node
from jostle.frameworks.lowerings.program import PREDICT, arrays_of
from jostle.frameworks.lowerings.torch_programs import AOT, EAGER, TorchLowering
from jostle.frameworks.signals.torch_signals import after, watched


def signals(lowering: TorchLowering, graph: Graph) -> set[str]:
    text, arrays = lowering.program(graph, PREDICT), arrays_of(graph, PREDICT)
    namespace: dict[str, Any] = dict(arrays)
    found = watched(lambda: exec(text, namespace), namespace)
    after()
    return found


def gelu(layout: str = "contiguous") -> Graph:
    return Graph({"x": Leaf("input", np.ones((2, 3), np.float32), layout)}, (Node("y", "gelu", ("x",)),), ("y",))


def test_kernels_are_told_with_the_type_of_their_first_tensor() -> None:
    assert "aten.gelu.default float32 rank2 contiguous" in signals(EAGER, gelu())
    assert "aten.gelu.default float32 rank2 strided" in signals(EAGER, gelu("transposed"))
    assert "aten.gelu.default float32 rank2 overlapping" in signals(EAGER, gelu("expanded"))


def test_a_compiled_model_tells_what_its_graph_calls() -> None:
    found = signals(AOT, gelu())
    assert "aten.erf.default float32 rank2 contiguous" in found
    assert "aten.gelu.default float32 rank2 contiguous" not in found
    assert "aot_autograd: ok" in found


def test_the_same_program_gives_the_same_signals() -> None:
    graph = single("conv", np.random.default_rng(1))
    assert signals(EAGER, graph) == signals(EAGER, graph)
