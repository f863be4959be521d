"""Equal and ReduceSum of int32 go through float32: 2**24 + 1 equals 2**24, and 2**24 + 1 + 1 is 2**24."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

INT32, BOOL = TensorProto.INT32, TensorProto.BOOL


def computed(node, infos, result, constants, **inputs):
    graph = helper.make_graph([node], "g", infos, [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    core = ov.Core()
    return core.compile_model(core.read_model(model.SerializeToString()), "CPU")(inputs)["y"]


large = np.array([2**24 + 1, 1], np.int32)
a, b = (helper.make_tensor_value_info(name, INT32, [2]) for name in "ab")
axes = numpy_helper.from_array(np.array([0]), "axes")
total = computed(
    helper.make_node("ReduceSum", ["a", "axes"], ["y"], keepdims=0),
    [a],
    helper.make_tensor_value_info("y", INT32, []),
    [axes],
    a=large,
)
equal = computed(
    helper.make_node("Equal", ["a", "b"], ["y"]),
    [a, b],
    helper.make_tensor_value_info("y", BOOL, [2]),
    [],
    a=large,
    b=large - 1,
)
print(total, equal)
assert total == 2**24 + 2 and not equal.any()
