"""Shrink of float64 computes in float32."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

node = helper.make_node("Shrink", ["x"], ["y"], lambd=0.5, bias=0.0)
infos = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [1]) for name in "xy"]
model = helper.make_model(
    helper.make_graph([node], "g", infos[:1], infos[1:]), opset_imports=[helper.make_opsetid("", 22)], ir_version=10
)
x = np.array([1.3])
y = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
print(y[0], "expected", x[0])
assert y[0] == x[0], "without bias, a value beyond lambd must come back as it is"
