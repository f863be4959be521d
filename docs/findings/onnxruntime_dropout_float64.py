"""Dropout of float64 in training scales by a factor rounded to float32."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node("Dropout", ["x", "ratio", "mode"], ["y"], seed=1)
constants = [numpy_helper.from_array(np.array(0.1), "ratio"), numpy_helper.from_array(np.array(True), "mode")]
x, y = (helper.make_tensor_value_info(name, TensorProto.DOUBLE, [1000]) for name in "xy")
graph = helper.make_graph([node], "g", [x], [y], constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
survivors = session.run(None, {"x": np.ones(1000)})[0].max()
print(survivors, "expected", 1 / 0.9)
assert abs(survivors - 1 / 0.9) < 1e-12, "only accurate to float32"
