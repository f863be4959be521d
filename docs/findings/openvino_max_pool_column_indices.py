"""MaxPool with storage_order=1 gives indices of shape (1, 1, 4, 3) beside values of shape (1, 1, 3, 4)."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 6])
values = helper.make_tensor_value_info("v", TensorProto.FLOAT, [1, 1, 3, 4])
indices = helper.make_tensor_value_info("i", TensorProto.INT64, [1, 1, 3, 4])
node = helper.make_node("MaxPool", ["x"], ["v", "i"], kernel_shape=[2, 3], storage_order=1)
graph = helper.make_graph([node], "g", [x], [values, indices])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6)})
assert result["v"].shape == result["i"].shape == (1, 1, 3, 4), (result["v"].shape, result["i"].shape)
