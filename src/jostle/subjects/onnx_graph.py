"""The graph of an ONNX model: its inputs and outputs, its layers, and more outputs to look at those."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.errors import ModelRefused
from jostle.subjects.array_model import LayerWatch, Slot
from jostle.subjects.layers import Layer, joined

if TYPE_CHECKING:
    import onnx

SOFTMAX = ("Softmax", "LogSoftmax")
# Operators that runtimes compute together with the one before, whose result then never stands in memory.
FUSED = (
    *("BatchNormalization", "Relu", "LeakyRelu", "PRelu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Elu"),
    *("Selu", "Gelu", "Softplus", "Add", "QuantizeLinear", "DequantizeLinear"),
)
# What computes sizes and constants, and never a row per input.
NO_LAYERS = ("Constant", "ConstantOfShape", "Shape", "Size", "Range", "NonZero", "Where", "Expand")
CHANNELS_FIRST_1D = ("Conv", "ConvTranspose", "BatchNormalization", "MaxPool", "AveragePool", "InstanceNormalization")
SCOPES = "pkg.torch.onnx.name_scopes"  # where torch's exporter keeps the names of modules
OF_BATCH = "DynamicQuantizeLinear"  # takes the scale from all that it is given at once
MEAN, LEAST, MOST = "jostle_mean", "jostle_min", "jostle_max"  # prefixes of what we add
LONGEST_PART = 8  # operators
FLOATS = (1, 10, 11, 16)  # element types: float, float16, double, bfloat16


@dataclass(frozen=True)
class GraphLayer:
    """A tensor inside the graph that may be watched."""

    layer: Layer
    tensor: str
    operator: str
    rank: int | None  # where it can be told without running the model

    @property
    def rest(self) -> list[int] | None:
        """The axes over which the mean of a channel is taken; None where that is not known, or nothing to take."""
        if self.rank is None or self.rank <= 2:
            return None
        return [1] if self.sequence else list(range(2, self.rank))

    @property
    def sequence(self) -> bool:
        """Whether it gives rows of steps [batch, steps, neurons]."""
        return self.rank == 3 and self.operator not in CHANNELS_FIRST_1D


def slots_of(values: Sequence[Any]) -> tuple[Slot, ...]:
    """Inputs or outputs of a graph."""
    from onnx import helper

    found = []
    for value in values:
        kind = value.type.tensor_type
        if not value.type.HasField("tensor_type") or not kind.HasField("shape"):
            raise ModelRefused(f"{value.name} is no tensor of a known rank: give a model of such inputs and outputs")
        shape = tuple(size.dim_value if size.dim_value > 0 else None for size in kind.shape.dim)  # some write -1 or 0
        found.append(Slot(value.name, shape, np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))))
    return tuple(found)


def inputs_of(proto: onnx.ModelProto) -> tuple[Slot, ...]:
    """What the model must be given: initializers may stand among its inputs too."""
    constants = {one.name for one in proto.graph.initializer}
    return slots_of([value for value in proto.graph.input if value.name not in constants])


def inner_of(proto: onnx.ModelProto) -> dict[str, GraphLayer]:
    """Every tensor that may be watched by the name of its layer, in order of computation.

    Layers are called as the modules of torch that they were exported from, else as their nodes. What leaves the graph
    keeps a runtime from fusing, so neurons are those that its fused parts end in, and where only NaN and infinity are
    sought, nothing but the layer before softmax is watched unless the user names it.
    """
    ranks, ends, found = _ranks(proto), _ends_of_parts(proto), dict[str, GraphLayer]()
    for node in proto.graph.node:
        if node.op_type in NO_LAYERS or not node.output or not node.output[0]:
            continue
        name = _module(node) or node.name or node.output[0]
        known = tuple(dict.fromkeys(alias for alias in (node.name, node.output[0]) if alias and alias != name))
        layer = Layer(name, node.op_type in SOFTMAX, True, node.output[0] not in ends, aliases=known)
        inner = GraphLayer(layer, node.output[0], node.op_type, ranks.get(node.output[0]))
        found[name] = replace(inner, layer=joined(found.pop(name).layer, layer)) if name in found else inner
    return found


def _ends_of_parts(proto: onnx.ModelProto) -> set[str]:
    """The tensors in which a part ends: an operator with weights, and what can be fused with it."""
    weights = {one.name for one in proto.graph.initializer if len(one.dims) > 1}
    users: dict[str, list[onnx.NodeProto]] = {}
    for node in proto.graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    return {_end(node, users) for node in proto.graph.node if weights & set(node.input) and node.output}


def _end(node: onnx.NodeProto, users: Mapping[str, list[onnx.NodeProto]]) -> str:
    for _ in range(LONGEST_PART):
        following = users.get(node.output[0], [])
        if len(following) != 1 or following[0].op_type not in FUSED or not following[0].output:
            break
        node = following[0]
    return str(node.output[0])


def _module(node: onnx.NodeProto) -> str:
    """The module of torch that a node was exported from; "" where the file does not tell."""
    scopes = next((prop.value for prop in node.metadata_props if prop.key == SCOPES), "")
    try:
        names = ast.literal_eval(scopes) if scopes else []
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    return str(names[-2]) if isinstance(names, list) and len(names) > 1 else ""


def _ranks(proto: onnx.ModelProto) -> dict[str, int]:
    """By tensor its number of dimensions, where inference tells it."""
    from onnx import shape_inference

    try:
        known = shape_inference.infer_shapes(proto).graph
    except (shape_inference.InferenceError, ValueError, RuntimeError):
        return {}
    values = (*known.value_info, *known.output, *known.input)
    return {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in values
        if value.type.tensor_type.HasField("shape") and value.type.tensor_type.elem_type in FLOATS
    }


def watching(proto: onnx.ModelProto, inner: Sequence[GraphLayer], watch: LayerWatch) -> onnx.ModelProto:
    """The model with more outputs: of each layer its neurons as `jostle_mean:LAYER`, or the tensor as it is.

    Means and extremes are computed inside the graph, so that little leaves it.
    """
    import onnx

    watched = onnx.ModelProto()
    watched.CopyFrom(proto)
    present = {value.name for value in proto.graph.output}
    for one in inner:
        for name, nodes in _watched_outputs(one, watch, _opset(proto)):
            watched.graph.node.extend(nodes)
            if name not in present:
                present.add(name)
                watched.graph.output.append(onnx.ValueInfoProto(name=name))
    return watched


def _opset(proto: onnx.ModelProto) -> int:
    return max((one.version for one in proto.opset_import if one.domain in ("", "ai.onnx")), default=1)


def _watched_outputs(one: GraphLayer, watch: LayerWatch, opset: int) -> Iterator[tuple[str, list[onnx.NodeProto]]]:
    """New outputs for one layer, each with the nodes that make it."""
    if watch.every_unit or one.rest is None:
        yield one.tensor, []
    else:
        yield mean_of(one), _reduced("ReduceMean", one, mean_of(one), one.rest, opset)
    if watch.extremes and one.rank is not None and one.rank > 1:
        every = list(range(1, one.rank))
        yield f"{LEAST}:{one.tensor}", _reduced("ReduceMin", one, f"{LEAST}:{one.tensor}", every, opset)
        yield f"{MOST}:{one.tensor}", _reduced("ReduceMax", one, f"{MOST}:{one.tensor}", every, opset)


def mean_of(one: GraphLayer) -> str:
    return f"{MEAN}:{one.tensor}"


def _reduced(operator: str, one: GraphLayer, output: str, axes: list[int], opset: int) -> list[onnx.NodeProto]:
    """Axes are an attribute, and of newer versions an input."""
    from onnx import helper

    if opset < 18:
        return [helper.make_node(operator, [one.tensor], [output], name=output, axes=axes, keepdims=0)]
    given = helper.make_tensor(f"{output}:axes", 7, [len(axes)], axes)
    constant = helper.make_node("Constant", [], [f"{output}:axes"], name=f"{output}:axes", value=given)
    return [constant, helper.make_node(operator, [one.tensor, f"{output}:axes"], [output], name=output, keepdims=0)]
