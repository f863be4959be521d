"""Gather by no indices, a constant of shape (0,), has shape (2,) as if the constant were a scalar, not (2, 0)."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

indices = numpy_helper.from_array(np.zeros(0, np.int64), "i")
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 0])
graph = helper.make_graph([helper.make_node("Gather", ["x", "i"], ["y"], axis=1)], "g", [x], [y], [indices])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.zeros((2, 3), np.float32)})["y"]
assert result.shape == (2, 0), f"{result.shape} instead of (2, 0)"
