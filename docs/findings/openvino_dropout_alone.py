"""A model of nothing but Dropout, which is not in training, loses the name of its input."""

# Fails with: Port for tensor name x was not found
import numpy as np
import openvino as ov
from onnx import TensorProto, helper

x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
graph = helper.make_graph([helper.make_node("Dropout", ["x"], ["y"])], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
print(compiled({"x": np.ones(3, np.float32)}))
