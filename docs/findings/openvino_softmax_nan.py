"""Softmax of NaN and numbers is 0 for the numbers. ONNX: Exp(x) / ReduceSum(Exp(x)), of which the sum is NaN."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"], axis=1)], "g", infos[:1], infos[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.array([[np.nan, 1, 0]], np.float32)})["y"]
print(result)
assert np.isnan(result).all()
