"""The program of the process that runs a user's own ONNX file, for the values that none of our graphs computes."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from jostle.frameworks.graph import DTYPES, array_as_json, array_from_json
from jostle.isolation.server import connected, serve

ERRORS_ONLY = 3  # a severity of ONNX Runtime's logger


class ModelFile:
    """Opens one model, all of whose tensors can be asked for."""

    def open(self, request: Mapping[str, Any]) -> dict[str, Any]:
        model = onnx.load_model_from_string(base64.b64decode(request["model"]))
        known = {value.name for value in model.graph.output}
        names = [name for node in model.graph.node for name in node.output if name and name not in known]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads, options.log_severity_level = 1, ERRORS_ONLY
        self._session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        self._inputs = {name: array_from_json(array) for name, array in request["inputs"].items()}
        return {}

    def values(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the tensors asked for that our graphs can hold; of the others the dtype."""
        values = self._session.run(request["names"], self._inputs)
        return {"values": {name: _told(value) for name, value in zip(request["names"], values, strict=True)}}


def _told(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    return array_as_json(value) if value.dtype.name in DTYPES else value.dtype.name


def main() -> None:
    file = ModelFile()
    serve(connected(sys.argv[1]), {"open": file.open, "values": file.values})
