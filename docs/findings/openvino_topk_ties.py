"""TopK of eight equal values puts the first one last. ONNX: of equal ones, that with the lower index comes first."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

count = numpy_helper.from_array(np.array([8]), "k")
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8])
places = helper.make_tensor_value_info("places", TensorProto.INT64, [8])
node = helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=0)
graph = helper.make_graph([node], "g", [x], [places], [count])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
core = ov.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU")
result = compiled({"x": np.zeros(8, np.float32)})["places"]
print(result)
assert (result == np.arange(8)).all()
