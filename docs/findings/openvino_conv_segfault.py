"""Conv with a kernel of 2 by 1, pads 0 and 2, strides 1 and 3, dilations 1 and 2 ends the process with SIGSEGV."""

# Fails with: SIGSEGV

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

w = numpy_helper.from_array(np.ones((2, 2, 2, 1), np.float32), "w")
b = numpy_helper.from_array(np.ones(2, np.float32), "b")
node = helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[0, 2, 0, 2], strides=[1, 3], dilations=[1, 2])
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 8, 1])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 7, 2])
model = helper.make_model(
    helper.make_graph([node], "g", [x], [y], [w, b]), opset_imports=[helper.make_opsetid("", 22)], ir_version=10
)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.ones((1, 2, 8, 1), np.float32)})["y"]
print(result)
assert (result == 1).all(), "both columns see padding only, so the bias 1 is right"
