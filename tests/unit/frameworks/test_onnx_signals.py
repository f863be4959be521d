"""What is told of ONNX Runtime and OpenVINO follows what worked in them."""

from typing import Any

import numpy as np

from jostle.frameworks.backends.onnx.programs import ONNXRUNTIME, ONNXRUNTIME_PLAIN, OPENVINO, OnnxLowering
from jostle.frameworks.backends.onnx.signals import prepare, watched
from jostle.frameworks.backends.program import PREDICT, arrays_of
from jostle.frameworks.graph import INPUT, Graph, Leaf, Node


def signals(lowering: OnnxLowering, operator: str, **attributes: Any) -> set[str]:
    prepare()
    x = Leaf(INPUT, np.ones((1, 2, 4, 4), np.float32))
    graph = Graph({"x": x}, (Node("y", operator, ("x",), attributes),), ("y",))
    namespace: dict[str, Any] = dict(arrays_of(graph, PREDICT))
    program = lowering.program(graph, PREDICT)
    told = watched(lambda: exec(program, namespace), namespace)
    assert namespace["result"]["y"].dtype == np.float32
    return told


def test_a_fusion_shows_in_the_optimised_graph_only() -> None:
    assert any("QuickGelu" in one for one in signals(ONNXRUNTIME, "silu"))
    assert {one.split(":")[1].split("(")[0] for one in signals(ONNXRUNTIME_PLAIN, "silu")} == {"Sigmoid", "Mul"}


def test_other_attributes_are_other_signals_and_the_same_are_the_same() -> None:
    first, again = (signals(ONNXRUNTIME, "softmax", axis=1) for _ in range(2))
    assert first == again != signals(ONNXRUNTIME, "softmax", axis=3)


def test_openvino_tells_the_kernels() -> None:
    told = signals(OPENVINO, "softmax", axis=1)
    assert any(one.startswith("openvino Softmax ") and "f32" in one for one in told)
    assert told != signals(OPENVINO, "floor")
