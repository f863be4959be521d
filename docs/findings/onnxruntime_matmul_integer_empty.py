"""MatMulInteger of shapes (64, 0) and (0, 64) leaves memory as it was, here of arrays that are gone. Should: zeros."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

infos = [helper.make_tensor_value_info("a", TensorProto.INT8, [64, 0])]
infos += [helper.make_tensor_value_info("b", TensorProto.INT8, [0, 64])]
y = helper.make_tensor_value_info("y", TensorProto.INT32, [64, 64])
graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "g", infos, [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
options = onnxruntime.SessionOptions()
options.enable_cpu_mem_arena = False
session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
for _ in range(10):
    sevens = [np.full((64, 64), 7, np.int32) for _ in range(20)]
    del sevens
    result = session.run(None, {"a": np.zeros((64, 0), np.int8), "b": np.zeros((0, 64), np.int8)})[0]
    assert not result.any(), result
