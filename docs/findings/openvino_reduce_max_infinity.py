"""ReduceMax of nothing but -inf is the lowest finite float32, and ReduceMin of nothing but inf the largest one."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper


def reduced(kind, value):
    axes = numpy_helper.from_array(np.array([0]), "axes")
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [2]), ("y", []))]
    node = helper.make_node(kind, ["x", "axes"], ["y"], keepdims=0)
    graph = helper.make_graph([node], "g", infos[:1], infos[1:], [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    core = ov.Core()
    compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
    return compiled({"x": np.full(2, value, np.float32)})["y"].item()


seen = reduced("ReduceMax", -np.inf), reduced("ReduceMin", np.inf)
assert seen == (-np.inf, np.inf), seen
