"""AveragePool with ceil_mode and count_include_pad counts pixels beyond the padding, if there is any padding."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 3])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 2])
given = {"kernel_shape": [3], "strides": [2], "pads": [1, 0], "ceil_mode": 1, "count_include_pad": 1}
graph = helper.make_graph([helper.make_node("AveragePool", ["x"], ["y"], **given)], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.ones((1, 1, 3), np.float32)})["y"].flatten()
np.testing.assert_allclose(result, [2 / 3, 1])  # the second window holds two pixels, and no padding
