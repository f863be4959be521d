"""Compiling y = Relu(x) + GroupNormalization(x) ends the process with SIGSEGV."""

# Fails with: SIGSEGV

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

nodes = [
    helper.make_node("Relu", ["x"], ["r"]),
    helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["g"], num_groups=2),
    helper.make_node("Add", ["r", "g"], ["y"]),
]
shapes = {"x": [1, 4, 8, 8], "scale": [4], "bias": [4], "y": [1, 4, 8, 8]}
infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
graph = helper.make_graph(nodes, "g", infos[:3], infos[3:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
y = compiled({name: np.ones(shapes[name], np.float32) for name in ("x", "scale", "bias")})["y"]
print(y[0, 0, 0, 0])
assert (y == 2).all(), "the normalised ones are 0, plus bias 1, plus Relu(1)"
