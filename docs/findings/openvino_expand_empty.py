"""Expand of an input without elements, from shape (0, 1) to (0, 3), ends the process with SIGFPE."""

# Fails with: SIGFPE

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

shape = numpy_helper.from_array(np.array([0, 3]), "s")
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [0, 1])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [0, 3])
graph = helper.make_graph([helper.make_node("Expand", ["x", "s"], ["y"])], "g", [x], [y], [shape])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
assert compiled({"x": np.zeros((0, 1), np.float32)})["y"].shape == (0, 3)
