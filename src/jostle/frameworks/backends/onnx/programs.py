"""Programs that build an ONNX model and run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jostle.frameworks.backends.onnx.activations import ACTIVATIONS
from jostle.frameworks.backends.onnx.arithmetic import ARITHMETIC
from jostle.frameworks.backends.onnx.convolutions import CONVOLUTIONS
from jostle.frameworks.backends.onnx.dropout import DROPOUT, drops_out
from jostle.frameworks.backends.onnx.elementwise import ELEMENTWISE
from jostle.frameworks.backends.onnx.indexing import INDEXING
from jostle.frameworks.backends.onnx.layers import LAYERS
from jostle.frameworks.backends.onnx.limits import refuse_onnxruntime, refuse_openvino
from jostle.frameworks.backends.onnx.linear_algebra import LINEAR_ALGEBRA
from jostle.frameworks.backends.onnx.nodes import ONNX_TYPES, Sketch, Sketcher
from jostle.frameworks.backends.onnx.normalisation import NORMALISATION
from jostle.frameworks.backends.onnx.opsets import EVERY_RUNTIME_IS_NEW, FORMATS, Opsets, needed
from jostle.frameworks.backends.onnx.plain_normalisation import PLAIN_NORMALISATION
from jostle.frameworks.backends.onnx.pooling import POOLING
from jostle.frameworks.backends.onnx.quantization import QUANTIZATION
from jostle.frameworks.backends.onnx.recurrent import RECURRENT
from jostle.frameworks.backends.onnx.reductions import REDUCTIONS
from jostle.frameworks.backends.onnx.sampling import SAMPLING
from jostle.frameworks.backends.onnx.selection import SELECTION
from jostle.frameworks.backends.onnx.shaping import SHAPING
from jostle.frameworks.backends.onnx.special_functions import SPECIAL_FUNCTIONS
from jostle.frameworks.backends.onnx.statistics import STATISTICS
from jostle.frameworks.backends.onnx.windows import WINDOWS
from jostle.frameworks.backends.program import INDENT, PREDICT, Call, Unsupported, calls, literal
from jostle.frameworks.graph import INPUT, Graph, TensorType
from jostle.frameworks.operators.all_operators import types_of

SKETCHERS: Mapping[str, Sketcher] = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPING,
    **INDEXING,
    **CONVOLUTIONS,
    **POOLING,
    **NORMALISATION,
    **SAMPLING,
    **LAYERS,
    **DROPOUT,
    **SPECIAL_FUNCTIONS,
    **ARITHMETIC,
    **ACTIVATIONS,
    **QUANTIZATION,
    **STATISTICS,
    **LINEAR_ALGEBRA,
    **SELECTION,
    **PLAIN_NORMALISATION,
    **WINDOWS,
    **RECURRENT,
}


@dataclass(frozen=True)
class OnnxLowering:
    """Something that runs ONNX models."""

    name: str
    extra: str
    module: str
    packages: tuple[str, ...]
    running: tuple[str, ...]  # what is imported for it
    run: Callable[[Graph], Sequence[str]]  # the lines that run `model`
    refuse: Callable[[Graph], None]  # raises Unsupported for what it documents not to compute
    phases: tuple[str, ...] = (PREDICT,)
    opsets: Opsets = EVERY_RUNTIME_IS_NEW

    def program(self, graph: Graph, phase: str) -> str:
        if phase not in self.phases:
            raise Unsupported(f"has no phase {phase}")
        self.refuse(graph)
        sketches = [sketched(call) for call in calls(graph)]
        opset = max(self.opsets.usual, needed(sketches))
        if opset > self.opsets.newest:
            raise Unsupported(f"has no opset {opset}")
        return "\n".join([*self.running, *_building(graph, sketches, opset), *self.run(graph)]) + "\n"


def sketched(call: Call) -> Sketch:
    """The ONNX nodes for one of ours."""
    if call.node.operator not in SKETCHERS:
        raise Unsupported(f"has no {call.node.operator}")
    sketch = Sketch(call)
    return sketch.ended(SKETCHERS[call.node.operator](sketch))


def _building(graph: Graph, sketches: Sequence[Sketch], opset: int) -> list[str]:
    """The lines that build `model`."""
    types, ir = types_of(graph), FORMATS[opset]
    nodes = [str(node) for sketch in sketches for node in sketch.nodes]
    constants = {name: name for name, leaf in graph.leaves.items() if leaf.role != INPUT}
    for sketch in sketches:
        constants |= sketch.constants
    return [
        *(["import numpy as np"] if any(sketch.constants for sketch in sketches) else []),
        "from onnx import TensorProto, helper, numpy_helper" if constants else "from onnx import TensorProto, helper",
        "",
        *_listed("nodes", nodes),
        *_listed("inputs", _declared(_given(graph), types)),
        *_listed("outputs", _declared(graph.outputs, types)),
        *_listed("constants", [f"numpy_helper.from_array({array}, {name!r})" for name, array in constants.items()]),
        'graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)',
        f'model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", {opset})], ir_version={ir})',
    ]


def _given(graph: Graph) -> list[str]:
    """The inputs but those that nothing reads, which OpenVINO leaves out."""
    read = {*graph.outputs, *(name for node in graph.nodes for name in node.inputs)}
    return [name for name in graph.named(INPUT) if name in read]


def _declared(names: Sequence[str], types: Mapping[str, TensorType]) -> list[str]:
    return [
        f"helper.make_tensor_value_info({name!r}, TensorProto.{ONNX_TYPES[type_.dtype]}, {list(type_.shape)})"
        for name, type_ in ((name, types[name]) for name in names)
    ]


def _listed(name: str, items: Sequence[str]) -> list[str]:
    """A list, on lines of their own if there are several items."""
    if len(items) < 2:
        return [f"{name} = [{''.join(items)}]"]
    return [f"{name} = [", *(f"{INDENT}{item}," for item in items), "]"]


def _fed(graph: Graph) -> str:
    return "{" + ", ".join(f"{name!r}: {name}" for name in _given(graph)) + "}"


def _onnxruntime(level: str) -> Callable[[Graph], Sequence[str]]:
    def run(graph: Graph) -> Sequence[str]:
        """Without an optimisation that takes dropout in training for none (onnxruntime#9333)."""
        names = literal(list(graph.outputs))
        kept = ', disabled_optimizers=["EliminateDropout"]' if drops_out(graph) else ""
        return [
            "options = ort.SessionOptions()",
            f"options.graph_optimization_level = ort.GraphOptimizationLevel.{level}",
            "options.intra_op_num_threads = 1",
            f'session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]{kept})',
            f"result = dict(zip({names}, session.run({names}, {_fed(graph)})))",
        ]

    return run


def _openvino(graph: Graph) -> Sequence[str]:
    taken = ", ".join(f"{name!r}: computed[{name!r}]" for name in graph.outputs)
    return [
        'exact = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": 1}',
        "core = ov.Core()",
        'compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", exact)',
        f"computed = compiled({_fed(graph)})",
        f"result = {{{taken}}}",
    ]


def _runtime(name: str, level: str) -> OnnxLowering:
    return OnnxLowering(
        name,
        "onnx",
        "onnxruntime",
        ("onnx", "onnxruntime"),
        ("import onnxruntime as ort",),
        _onnxruntime(level),
        refuse_onnxruntime,
    )


ONNXRUNTIME = _runtime("onnxruntime", "ORT_ENABLE_ALL")
ONNXRUNTIME_PLAIN = _runtime("onnxruntime-plain", "ORT_DISABLE_ALL")
ONNXRUNTIME_BASIC = _runtime("onnxruntime-basic", "ORT_ENABLE_BASIC")
ONNXRUNTIME_EXTENDED = _runtime("onnxruntime-extended", "ORT_ENABLE_EXTENDED")
OPENVINO = OnnxLowering(
    "openvino",
    "onnx,openvino",
    "openvino",
    ("onnx", "openvino"),
    ("import openvino as ov",),
    _openvino,
    refuse_openvino,
)
