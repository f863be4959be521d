"""Expand of a scalar by an empty shape gives shape (1,) instead of ()."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

shape = numpy_helper.from_array(np.array([], np.int64), "shape")
node = helper.make_node("Expand", ["x", "shape"], ["y"])
infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in "xy"]
graph = helper.make_graph([node], "g", infos[:1], infos[1:], [shape])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
result = core.compile_model(core.read_model(model.SerializeToString()), "CPU")({"x": np.array(2, np.float32)})["y"]
print(result.shape)
assert result.shape == (), "the declared and the right shape is ()"
