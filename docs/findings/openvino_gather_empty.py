"""Gather of the first two rows of shape (3, 0) ends the process with SIGFPE."""

# Fails with: SIGFPE

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

indices = numpy_helper.from_array(np.array([0, 1]), "i")
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 0])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 0])
graph = helper.make_graph([helper.make_node("Gather", ["x", "i"], ["y"], axis=0)], "g", [x], [y], [indices])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
assert compiled({"x": np.zeros((3, 0), np.float32)})["y"].shape == (2, 0)
