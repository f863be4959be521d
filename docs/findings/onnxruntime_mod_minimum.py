"""Mod of the smallest int32 or int64 by -1, which is 0, ends the process with SIGFPE."""

# Fails with: SIGFPE

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

infos = [helper.make_tensor_value_info(name, TensorProto.INT32, [1]) for name in "aby"]
graph = helper.make_graph([helper.make_node("Mod", ["a", "b"], ["y"])], "g", infos[:2], infos[2:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
smallest = np.array([np.iinfo(np.int32).min], np.int32)
assert session.run(None, {"a": smallest, "b": np.array([-1], np.int32)})[0] == 0
