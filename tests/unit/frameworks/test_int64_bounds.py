"""OpenVINO computes int64 in int32: it is given graphs whose whole numbers stay below that, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jostle.frameworks.backends.onnx.int64_bounds import largest_wholes
from jostle.frameworks.backends.onnx.programs import ONNXRUNTIME, OPENVINO
from jostle.frameworks.backends.program import PREDICT, Unsupported, arrays_of
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import INPUT, INTEGERS, Graph, Leaf, Node
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.reference.run import evaluate
from jostle.frameworks.reference.undefined import Undefined


def chain(*nodes: Node, x: object = (3, -4, 5)) -> Graph:
    return Graph({"x": Leaf(INPUT, np.array(x, np.int64))}, nodes, (nodes[-1].name,))


def test_no_whole_number_is_above_its_bound() -> None:
    compared = 0
    for name in OPERATORS:
        for draw in range(20):
            graph = single(name, np.random.default_rng([draw, *name.encode()]))
            if types_of(graph)["y"].dtype not in INTEGERS:
                continue
            try:
                found = evaluate(graph)["y"]
            except Undefined:
                continue
            assert np.abs(found.astype(np.float64)).max(initial=0) <= largest_wholes(graph)["y"], graph.nodes[0]
            compared += 1
    assert compared > 500


def test_sums_and_products_of_small_numbers_are_given_to_openvino_and_are_right() -> None:
    graph = chain(Node("a", "mul", ("x", "x")), Node("y", "sum", ("a",), {"axes": [0], "keepdims": False}))
    namespace: dict[str, Any] = dict(arrays_of(graph, PREDICT))
    exec(OPENVINO.program(graph, PREDICT), namespace)
    answer = namespace["result"]["y"]
    assert answer.dtype == np.int64 and answer == 50


@pytest.mark.parametrize(
    "nodes",
    [
        [Node(f"s{at}", "square", (f"s{at - 1}" if at else "x",)) for at in range(5)],
        [Node("y", "mul_scalar", ("x",), {"scalar": 2**30})],
        [Node("f", "cast", ("x",), {"to": "float32"}), Node("y", "cast", ("f",), {"to": "int64"})],
    ],
    ids=["squares", "a large factor", "floats"],
)
def test_what_may_leave_int32_is_not_given_to_openvino(nodes: list[Node]) -> None:
    with pytest.raises(Unsupported, match="int64 in int32"):
        OPENVINO.program(chain(*nodes), PREDICT)


@pytest.mark.parametrize("operator", ["sum", "sum_square", "prod"])
def test_a_reduction_that_may_overflow_is_not_given_to_onnx_runtime(operator: str) -> None:
    node = Node("y", operator, ("x",), {"axes": [0], "keepdims": False})
    with pytest.raises(Unsupported, match="saturates"):
        ONNXRUNTIME.program(chain(node, x=(2**62, 2**62, 2**62)), PREDICT)
    namespace: dict[str, Any] = dict(arrays_of(chain(node), PREDICT))
    exec(ONNXRUNTIME.program(chain(node), PREDICT), namespace)
    assert namespace["result"]["y"] == {"sum": 4, "sum_square": 50, "prod": -60}[operator]
