"""Mod with fmod=1 rounds a quotient and a product on its way. ONNX: the result is exactly x - n y, as C's fmod."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "aby"]
graph = helper.make_graph([helper.make_node("Mod", ["a", "b"], ["y"], fmod=1)], "g", infos[:2], infos[2:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
a, b = np.array([10000.0], np.float32), np.array([0.3], np.float32)
result = compiled({"a": a, "b": b})["y"]
assert result == np.fmod(a, b), (result, np.fmod(a, b))
