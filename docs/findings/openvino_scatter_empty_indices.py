"""A constant without elements loses its rank: ScatterElements with indices of shape (1, 1, 0) does not compile."""

# Fails with: Indices rank and data rank are required to be equal

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

indices = numpy_helper.from_array(np.zeros((1, 1, 0), np.int64), "i")
node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=1)
infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 0]) for name in "xuy"]
graph = helper.make_graph([node], "g", infos[:2], infos[2:], [indices])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
empty = np.zeros((1, 1, 0), np.float32)
result = core.compile_model(core.read_model(model.SerializeToString()), "CPU")({"x": empty, "u": empty})["y"]
assert result.shape == (1, 1, 0)
