"""What of ONNX Runtime and of OpenVINO worked: the nodes that are left after optimising, and the kernels chosen."""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jostle.foreign import Crash, attempt
from jostle.frameworks.backends.onnx.opsets import FORMATS

PROVIDERS = ["CPUExecutionProvider"]
ERRORS_ONLY = 3  # a severity of ONNX Runtime's logger


def prepare() -> None:
    """Loads what programs need, and keeps warnings from filling the worker's log; threads are set by the programs."""
    importlib.import_module("onnx")
    if importlib.util.find_spec("onnxruntime") is not None:
        importlib.import_module("onnxruntime").set_default_logger_severity(ERRORS_ONLY)


def newest_opset() -> int:
    """The newest operator set that the installed ONNX Runtime runs."""
    return max((opset for opset in FORMATS if _runs(opset)), default=min(FORMATS))


def _runs(opset: int) -> bool:
    session = importlib.import_module("onnxruntime").InferenceSession
    return not isinstance(attempt(lambda: session(_passing_on(opset), providers=PROVIDERS)), Crash)


def _passing_on(opset: int) -> bytes:
    """A model of this operator set."""
    helper = importlib.import_module("onnx.helper")
    value = [helper.make_tensor_value_info(name, 1, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "graph", value[:1], value[1:])
    opsets = [helper.make_opsetid("", opset)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=FORMATS[opset]).SerializeToString())


def watched(run: Callable[[], None], namespace: dict[str, Any]) -> set[str]:
    """Runs the program, which leaves a session or a compiled model in the namespace, and tells what worked in it."""
    run()
    if "session" in namespace:
        return _of_onnxruntime(namespace["model"], namespace["options"])
    return _of_openvino(namespace["compiled"])


def _of_onnxruntime(model: Any, options: Any) -> set[str]:
    graph = _optimised(model, options).graph
    dtypes = _dtypes(graph)
    return {_node_signal(node, dtypes) for node in graph.node}


def _optimised(model: Any, options: Any) -> Any:
    """A second session writes the optimised model, which none gives away otherwise."""
    onnx, onnxruntime = importlib.import_module("onnx"), importlib.import_module("onnxruntime")
    if options.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL:
        return model
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        options.optimized_model_filepath = file.name
        onnxruntime.InferenceSession(model.SerializeToString(), options, PROVIDERS)
        return onnx.load_from_string(Path(file.name).read_bytes())


def _dtypes(graph: Any) -> dict[str, int]:
    values = [*graph.input, *graph.output, *graph.value_info]
    known = {value.name: value.type.tensor_type.elem_type for value in values}
    return known | {constant.name: constant.data_type for constant in graph.initializer}


def _node_signal(node: Any, dtypes: dict[str, int]) -> str:
    read = ",".join(str(dtypes.get(name, "?")) for name in node.input)
    classes = ",".join(
        f"{one.name}={_attribute_class(one)}" for one in sorted(node.attribute, key=lambda one: one.name)
    )
    return f"onnxruntime {node.domain}:{node.op_type}({read}) {classes}".rstrip()


def _attribute_class(attribute: Any) -> str:
    """What a kernel is likely to look at: texts and flags as they are, of numbers whether they are usual."""
    if attribute.s:
        return str(attribute.s.decode(errors="replace"))
    numbers = list(attribute.ints) or list(attribute.floats)
    if numbers:
        return f"{len(numbers)}{'' if len(set(numbers)) == 1 else '≠'}{_size(max(numbers))}"
    return _size(attribute.i or attribute.f)


def _size(number: float) -> str:
    return str(int(number)) if number in (-1, 0, 1, 2) else "n"


def _of_openvino(compiled: Any) -> set[str]:
    return {_kernel_signal(node.get_rt_info()) for node in compiled.get_runtime_model().get_ops()}


def _kernel_signal(info: Any) -> str:
    parts = (info[key].astype(str) for key in ("layerType", "primitiveType", "outputPrecisions", "outputLayouts"))
    return " ".join(("openvino", *parts))
