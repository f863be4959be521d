"""BitShift LEFT of uint8 gives 255 where bits are shifted out; ONNX's reference drops them."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

node = helper.make_node("BitShift", ["x", "s"], ["y"], direction="LEFT")
infos = [helper.make_tensor_value_info(name, TensorProto.UINT8, [2]) for name in "xsy"]
model = helper.make_model(
    helper.make_graph([node], "g", infos[:2], infos[2:]), opset_imports=[helper.make_opsetid("", 22)], ir_version=10
)
feed = {"x": np.array([7, 3], np.uint8), "s": np.array([6, 2], np.uint8)}
core = ov.Core()
result = core.compile_model(core.read_model(model.SerializeToString()), "CPU")(feed)["y"]
expected = ReferenceEvaluator(model).run(None, feed)[0]
print("openvino", result, "onnx's reference", expected)
assert (result == expected).all(), "bits shifted out of the uint8 must be lost"
