"""LRN of size 1: a number whose square is infinite makes NaN of all channels after it, which do not depend on it."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 1, 1]) for name in "xy"]
graph = helper.make_graph([helper.make_node("LRN", ["x"], ["y"], size=1)], "g", infos[:1], infos[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
x = np.array([1e20, 1, 1, 1], np.float32).reshape(1, 4, 1, 1)
result = session.run(None, {"x": x})[0].flatten()
assert np.isfinite(result[1:]).all(), result
