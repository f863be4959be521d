"""MaxPool with ceil_mode keeps a window that starts in the right padding: ONNX says such windows are ignored."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1)
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
model = helper.make_model(
    helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 22)], ir_version=10
)
feed = {"x": np.array([[[1, 2, 3, 4]]], np.float32)}
core = ov.Core()
result = core.compile_model(core.read_model(model.SerializeToString()), "CPU")(feed)["y"]
expected = ReferenceEvaluator(model).run(None, feed)[0]
print("openvino", result, "onnx's reference", expected)
assert result.shape == (1, 1, 2), "windows begin at -1, 2 and 5; 5 lies in the right padding and does not count"
