"""Conv with a kernel of 1, padding and a stride, after Relu, has another shape: the stride goes before the padding."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

w = numpy_helper.from_array(np.ones((1, 1, 1), np.float32), "w")
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 9])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 6])
nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Conv", ["a", "w"], ["y"], strides=[2], pads=[1, 1])]
model = helper.make_model(
    helper.make_graph(nodes, "g", [x], [y], [w]), opset_imports=[helper.make_opsetid("", 22)], ir_version=10
)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.arange(9, dtype=np.float32).reshape(1, 1, 9)})["y"]
print(result)
assert result.shape == (1, 1, 6) and (result == [0, 1, 3, 5, 7, 0]).all()
