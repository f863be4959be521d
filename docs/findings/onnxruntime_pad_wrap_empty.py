"""Pad in mode wrap by nothing fails for an input without elements: "Unexpected mode of 3"."""

# Fails with: Unexpected mode of 3

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

pads = numpy_helper.from_array(np.zeros(6, np.int64), "pads")
node = helper.make_node("Pad", ["x", "pads"], ["y"], mode="wrap")
infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 0]) for name in "xy"]
graph = helper.make_graph([node], "g", infos[:1], infos[1:], [pads])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
y = session.run(None, {"x": np.zeros((1, 1, 0), np.float32)})[0]
assert y.shape == (1, 1, 0)
