"""Resize with antialias=1 computes the same as with antialias=0. ONNX: a filter is stretched over all six pixels."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper


def resized(x, antialias):
    sizes = numpy_helper.from_array(np.array([1, 1, 1, 1]), "sizes")
    info, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 1, n]) for name, n in (("x", 6), ("y", 1)))
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear", antialias=antialias)
    graph = helper.make_graph([node], "g", [info], [y], [sizes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    core = ov.Core()
    return core.compile_model(core.read_model(model.SerializeToString()), "CPU")({"x": x})["y"].item()


x = np.array([1, 0, 0, 0, 0, 0], np.float32).reshape(1, 1, 1, 6)
assert resized(x, antialias=0) == 0, "between the third pixel and the fourth"
assert resized(x, antialias=1) > 0, "ONNX's reference: 0.13"
