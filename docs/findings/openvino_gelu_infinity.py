"""Gelu of inf is NaN. ONNX: x / 2 times 1 + erf(x / √2), so inf."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Gelu", ["x"], ["y"])], "g", infos[:1], infos[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.array([np.inf, 1], np.float32)})["y"]
assert np.isposinf(result[0]), result
