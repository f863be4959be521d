"""BitShift of two scalars gives shape (1,) instead of ()."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

node = helper.make_node("BitShift", ["x", "s"], ["y"], direction="RIGHT")
infos = [helper.make_tensor_value_info(name, TensorProto.UINT8, []) for name in "xsy"]
graph = helper.make_graph([node], "g", infos[:2], infos[2:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.array(6, np.uint8), "s": np.array(2, np.uint8)})["y"]
print(result.shape)
assert result.shape == (), "the declared and the right shape is ()"
