"""GreaterOrEqual is true where an input is NaN, Greater where the second one is. IEEE 754: no number is above NaN."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper


def compared(kind, a, b):
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "ab"]
    y = helper.make_tensor_value_info("y", TensorProto.BOOL, [3])
    graph = helper.make_graph([helper.make_node(kind, ["a", "b"], ["y"])], "g", infos, [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    core = ov.Core()
    return core.compile_model(core.read_model(model.SerializeToString()), "CPU")({"a": a, "b": b})["y"]


a, b = np.array([np.nan, 1, np.nan], np.float32), np.array([0, np.nan, np.nan], np.float32)
seen = [compared(kind, a, b) for kind in ("GreaterOrEqual", "Greater")]
print(seen)
assert not np.any(seen)
