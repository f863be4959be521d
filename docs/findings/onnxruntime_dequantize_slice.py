"""DequantizeLinear of int8 and a Slice of it: an optimisation writes a QuantizeLinear that the runtime then refuses."""

# Fails with: output_dtype INT8 does not match y_zero_point type UINT8

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

constants = {"scale": np.float32(0.5), "starts": np.array([1]), "ends": np.array([3])}
x = helper.make_tensor_value_info("x", TensorProto.INT8, [4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
nodes = [
    helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["d"]),
    helper.make_node("Slice", ["d", "starts", "ends"], ["y"]),
]
tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
tensors.append(numpy_helper.from_array(np.asarray(0, np.int8), "zero"))
graph = helper.make_graph(nodes, "g", [x], [y], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
print(session.run(None, {"x": np.arange(4, dtype=np.int8)}))
