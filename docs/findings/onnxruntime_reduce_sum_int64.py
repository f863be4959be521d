"""ReduceSum and ReduceSumSquare of int64 go through float64: 2**53 + 1 + 2 is even."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def reduced(kind, values):
    axes = numpy_helper.from_array(np.array([0]), "axes")
    x, y = (
        helper.make_tensor_value_info(*info) for info in (("x", TensorProto.INT64, [2]), ("y", TensorProto.INT64, []))
    )
    graph = helper.make_graph([helper.make_node(kind, ["x", "axes"], ["y"], keepdims=0)], "g", [x], [y], [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.array(values)})[0].item()


assert reduced("ReduceSumSquare", [2**31 + 1, 0]) == (2**31 + 1) ** 2
assert reduced("ReduceSum", [2**53 + 1, 2]) == 2**53 + 3
