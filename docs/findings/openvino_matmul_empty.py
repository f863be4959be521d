"""MatMul of matrices with an axis of 0 does not compile. ONNX, as numpy.matmul: sums of nothing, which are 0."""

# Fails with: object is not initialized

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

shapes = {"a": [2, 0], "b": [0, 3], "y": [2, 3]}
infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "g", infos[:2], infos[2:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"a": np.zeros((2, 0), np.float32), "b": np.zeros((0, 3), np.float32)})["y"]
assert result.shape == (2, 3) and not result.any()
