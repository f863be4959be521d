"""LSTM ignores the weights of peepholes: the result is the same with and without them."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper


def computed(peepholes):
    arrays = {
        "w": np.ones((1, 4, 1), np.float32),
        "r": np.ones((1, 4, 1), np.float32),
        "b": np.zeros((1, 8), np.float32),
        "p": np.full((1, 3), peepholes, np.float32),
    }
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 1, 1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 1, 1, 1])
    node = helper.make_node("LSTM", ["x", "w", "r", "b", "", "", "", "p"], ["y"], hidden_size=1)
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph([node], "g", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    core = ov.Core()
    return core.compile_model(core.read_model(model.SerializeToString()), "CPU")({"x": np.ones((2, 1, 1), np.float32)})[
        "y"
    ]


assert not np.array_equal(computed(0.0), computed(-5.0))
