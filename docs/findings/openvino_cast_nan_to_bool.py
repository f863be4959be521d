"""Cast of NaN to bool is false. ONNX's Cast says: false for +0 and -0, "True for everything else"."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
y = helper.make_tensor_value_info("y", TensorProto.BOOL, [2])
graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.BOOL)], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.array([np.nan, 1], np.float32)})["y"]
print(result)
assert result.all()
