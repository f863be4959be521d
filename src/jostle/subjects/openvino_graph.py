"""The graph of an OpenVINO model: its inputs and outputs, its layers, and more results to look at those."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jostle.errors import ModelRefused
from jostle.subjects.array_model import LayerWatch, Slot
from jostle.subjects.layers import Layer, joined
from jostle.subjects.onnx_graph import GraphLayer

SOFTMAX = ("Softmax", "LogSoftmax")
# Operators that pass on what another computed as it is.
SILENT = (
    *("Reshape", "Squeeze", "Unsqueeze", "Transpose", "Convert", "ConvertLike", "FakeQuantize"),
    *("SpaceToBatch", "BatchToSpace", "SpaceToDepth", "DepthToSpace"),
)
# What holds constants, and what computes sizes: never a row per input.
NO_LAYERS = ("Constant", "Parameter", "Result", "ShapeOf", "Range", "NonZero", "Broadcast", "ReadValue", "Assign")
CONVOLUTIONS = ("Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData")
OF_TORCH = "__module."  # what OpenVINO's own conversion of torch modules puts before their names
PART_OF = "/WithoutBiases"  # what it puts behind the name of an ONNX node, for the first of two nodes that replace it
FLOATS = ("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class LayerResults:
    """More results of a graph, for one layer: where among all results they stand."""

    inner: GraphLayer
    neurons: int  # of means [batch, neurons], or of the tensor as it is
    means: bool
    ends: tuple[int, int] | None = None  # of the smallest and of the largest value [batch]


def slots_of(ports: Sequence[Any]) -> tuple[Slot, ...]:
    """Inputs or outputs of a graph."""
    return tuple(Slot(port_name(port), _shape(port), _dtype(port)) for port in ports)


def port_name(port: Any) -> str:
    """The first of its names by the alphabet, so that it is the same each time; else that of what computes it."""
    names = sorted(port.get_names())
    source = port.get_node()
    if not names and source.get_type_name() == "Result":
        return port_name(source.input_value(0))
    return str(names[0] if names else source.get_friendly_name())


def _shape(port: Any) -> tuple[int | None, ...]:
    shape = port.get_partial_shape()
    if shape.rank.is_dynamic:
        raise ModelRefused(f"{port_name(port)} is no tensor of a known rank: give a model of such inputs and outputs")
    return tuple(size.get_length() if size.is_static else None for size in shape)


def _dtype(port: Any) -> np.dtype[Any]:
    kind = port.get_element_type()
    return np.dtype(object) if kind.get_type_name() in ("bf16", "string", "dynamic") else np.dtype(kind.to_dtype())


def inner_of(network: Any) -> dict[str, GraphLayer]:
    """Every tensor that may be watched by the name of its layer, in order of computation.

    Layers are called as the modules of torch that they were converted from, else as their nodes. What leaves the graph
    keeps OpenVINO from fusing, so where only NaN and infinity are sought, few are watched unless the user names them.
    """
    found: dict[str, GraphLayer] = {}
    for node in network.get_ordered_ops():
        kind = node.get_type_name()
        if kind in NO_LAYERS or node.output(0).get_element_type().get_type_name() not in FLOATS:
            continue
        inner = GraphLayer(_layer(node), node.get_friendly_name(), _operator(kind), _rank(node.output(0)))
        name = inner.layer.name
        found[name] = _merged(found.pop(name), inner) if name in found else inner
    return found


def _layer(node: Any) -> Layer:
    own, kind = node.get_friendly_name(), node.get_type_name()
    name = _module(own) or own.removesuffix(PART_OF)
    aliases = tuple(alias for alias in (own, *sorted(node.output(0).get_names())) if alias != name)
    return Layer(name, kind in SOFTMAX, True, kind in SILENT, aliases)


def _module(friendly: str) -> str:
    """The module of torch that a node was converted from; "" where its name does not tell."""
    return friendly.removeprefix(OF_TORCH).partition("/")[0] if friendly.startswith(OF_TORCH) else ""


def _operator(kind: str) -> str:
    """As ONNX calls it, where it tells in which axis channels are."""
    return {**dict.fromkeys(CONVOLUTIONS, "Conv"), "AvgPool": "AveragePool"}.get(kind, kind)


def _merged(earlier: GraphLayer, later: GraphLayer) -> GraphLayer:
    """A module of several nodes; a convolution remains one although its bias is added by another node."""
    convolution = earlier.operator == "Conv" and later.operator == "Add"
    operator = earlier.operator if convolution else later.operator
    return replace(later, layer=joined(earlier.layer, later.layer), operator=operator)


def _rank(port: Any) -> int | None:
    rank = port.get_partial_shape().rank
    return None if rank.is_dynamic else int(rank.get_length())


def ports_of(network: Any) -> dict[str, Any]:
    """Everything that nodes compute, by the names of tensors, and of nodes where no tensor has such a name."""
    nodes = [node for node in network.get_ordered_ops() if node.get_type_name() != "Result"]
    by_node = {node.get_friendly_name(): node.output(0) for node in nodes if node.get_output_size()}
    by_tensor = {name: port for node in nodes for port in node.outputs() for name in port.get_names()}
    return by_node | by_tensor


def watched(network: Any, inner: Iterable[GraphLayer], watch: LayerWatch) -> tuple[Any, list[LayerResults]]:
    """A copy of the network with more results, and where those stand.

    Means and extremes are computed inside the graph, so that little leaves it.
    """
    copy = network.clone()
    ports, added, found = ports_of(copy), list[Any](), list[LayerResults]()
    first = len(network.outputs)
    for one in inner:
        results = list(_results(one, ports[one.tensor], watch))
        place = first + len(added)
        ends = (place + 1, place + 2) if len(results) > 1 else None
        found.append(LayerResults(one, place, _reduces(one, watch), ends))
        added.extend(results)
    return _with_results(copy, added), found


def _reduces(one: GraphLayer, watch: LayerWatch) -> bool:
    return not watch.every_unit and one.rest is not None


def _results(one: GraphLayer, port: Any, watch: LayerWatch) -> Iterator[Any]:
    """Of each layer its neurons and, if asked for, the smallest and the largest value."""
    from openvino import opset13 as operators

    yield operators.reduce_mean(port, np.array(one.rest), False).output(0) if _reduces(one, watch) else port
    if watch.extremes and one.rank is not None and one.rank > 1:
        every = np.arange(1, one.rank)
        yield operators.reduce_min(port, every, False).output(0)
        yield operators.reduce_max(port, every, False).output(0)


def _with_results(network: Any, ports: Sequence[Any]) -> Any:
    """One result for each port, behind those that there are, also where one of those is the same."""
    from openvino import opset13 as operators

    network.add_results([operators.result(port) for port in ports])
    return network
