"""LRN of size 2 sums over three channels. ONNX: over those from c - floor(1 / 2) to c + ceil(1 / 2), which are two."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 1, 1]) for name in "xy"]
node = helper.make_node("LRN", ["x"], ["y"], size=2, alpha=2.0, beta=1.0, bias=1.0)
graph = helper.make_graph([node], "g", infos[:1], infos[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.ones((1, 3, 1, 1), np.float32)})["y"].flatten()
np.testing.assert_allclose(result, 1 / (1 + np.array([2, 2, 1])), rtol=1e-5)
