"""The graph of a LiteRT model: its layers, and the same model with more outputs to look at those."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jostle.subjects.layers import Layer, joined

SOFTMAX = ("SOFTMAX", "LOG_SOFTMAX")
# Operators that pass on what another computed as it is.
SILENT = (
    *("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "CAST", "QUANTIZE", "DEQUANTIZE"),
    *("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE"),
)
NO_LAYERS = ("SHAPE", "PACK", "RANGE", "FILL", "ZEROS_LIKE", "VAR_HANDLE", "CALL_ONCE", "READ_VARIABLE")
NUMBERS = ("FLOAT32", "FLOAT16", "FLOAT64")
QUANTISED = ("INT8", "UINT8", "INT16")  # real numbers where the tensor has a scale
WITHIN_LAYERS = ("batchnorm", "separable_conv2d", "depthwise", "moments", "Tensordot")  # what layers name their parts
SUBGRAPH_OUTPUTS = 8  # where a subgraph's table says how far away its list of outputs lies
ALIGNED = 16  # bytes


@dataclass(frozen=True)
class Step:
    """A tensor inside the graph that may be watched."""

    layer: Layer
    tensor: int


@dataclass(frozen=True)
class LitertGraph:
    """What a file tells of its main graph."""

    content: bytes
    steps: Mapping[str, Step]  # by name of the layer, in order of computation
    operators: tuple[str, ...]
    variables: bool  # it remembers something from one run to the next
    weights: int  # numbers in constants


def graph_of(content: bytes, named: Mapping[int, str]) -> LitertGraph:
    """The main graph of a checked file; some tensors have better names than the file gives them."""
    from ai_edge_litert import schema_py_generated as schema

    model = schema.Model.GetRootAs(content, 0)
    graph = model.Subgraphs(0)
    kinds = {code: name for name, code in vars(schema.BuiltinOperator).items() if not name.startswith("_")}
    types = {code: name for name, code in vars(schema.TensorType).items() if not name.startswith("_")}
    steps = list(_steps(model, graph, kinds, types, named))
    tensors = [graph.Tensors(number) for number in range(graph.TensorsLength())]
    return LitertGraph(
        content,
        _by_name(steps),
        tuple(kind for kind, _ in _operations(model, graph, kinds)),
        any(tensor.IsVariable() for tensor in tensors) or "VAR_HANDLE" in (kinds[c] for c in _codes(model)),
        sum(_count(tensor) for tensor in tensors if model.Buffers(tensor.Buffer()).DataLength()),
    )


def _codes(model: Any) -> list[int]:
    codes = [model.OperatorCodes(number) for number in range(model.OperatorCodesLength())]
    return [max(code.DeprecatedBuiltinCode(), code.BuiltinCode()) for code in codes]


def _operations(model: Any, graph: Any, kinds: Mapping[int, str]) -> Iterator[tuple[str, Any]]:
    codes = _codes(model)
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        yield kinds[codes[operator.OpcodeIndex()]], operator


def _count(tensor: Any) -> int:
    count = 1
    for axis in range(tensor.ShapeLength()):
        count *= tensor.Shape(axis)
    return count


def _steps(
    model: Any, graph: Any, kinds: Mapping[int, str], types: Mapping[int, str], named: Mapping[int, str]
) -> Iterator[Step]:
    for kind, operator in _operations(model, graph, kinds):
        if kind in NO_LAYERS or not operator.OutputsLength():
            continue
        index = operator.Outputs(0)
        tensor = graph.Tensors(index)
        if index >= 0 and _real(tensor, types[tensor.Type()]):
            own = (tensor.Name() or b"").decode(errors="replace") or f"tensor {index}"
            name = named.get(index) or scope_of(own)
            aliases = () if name == own else (own,)
            # What leaves the graph is not fused, so where only NaN and infinity are sought, it must be named.
            yield Step(Layer(name, kind in SOFTMAX, True, kind in SILENT, aliases), index)


def _real(tensor: Any, kind: str) -> bool:
    """Whether it holds real numbers, as they are or as multiples of a scale."""
    scaled = tensor.Quantization() is not None and tensor.Quantization().ScaleLength() == 1
    return kind in NUMBERS or (kind in QUANTISED and scaled)


def scope_of(tensor: str) -> str:
    """The layer in `model/layer/operator;model/earlier/operator`, where operators of several layers became one."""
    parts = tensor.partition(";")[0].split("/")
    inside = [part for part in parts[1:-1] if part not in WITHIN_LAYERS]
    return "/".join(inside) or tensor


def _by_name(steps: Sequence[Step]) -> dict[str, Step]:
    """Each layer with the last tensor that it computes."""
    found: dict[str, Step] = {}
    again = _suffix(steps)
    for step in steps:
        parts = step.layer.name.split("/")
        name = "/".join(part.removesuffix(again) for part in parts) if _scoped(step.layer) else step.layer.name
        layer = replace(step.layer, name=name)
        found[name] = replace(step, layer=joined(found.pop(name).layer, layer) if name in found else layer)
    return found


def _suffix(steps: Sequence[Step]) -> str:
    """What TensorFlow puts behind the name of every layer of a model that was called before."""
    scoped = [step.layer.name for step in steps if _scoped(step.layer)]
    ends = {part[part.rfind("_") :] if "_" in part else "" for name in scoped for part in name.split("/")}
    (end,) = ends if len(ends) == 1 and len(scoped) > 1 else ("",)
    return end if end[1:].isdigit() else ""


def _scoped(layer: Layer) -> bool:
    """Whether its name was found in that of its tensor."""
    return any("/" in alias for alias in layer.aliases)


def with_outputs(content: bytes, tensors: Sequence[int]) -> bytes:
    """The same file whose main graph gives these tensors too, behind its own outputs.

    A new list of outputs is put at the end, and the graph's table is told how far away it lies.
    """
    from ai_edge_litert import schema_py_generated as schema

    graph = schema.Model.GetRootAs(content, 0).Subgraphs(0)
    place = graph._tab.Pos + graph._tab.Offset(SUBGRAPH_OUTPUTS)
    outputs = [*(graph.Outputs(number) for number in range(graph.OutputsLength())), *tensors]
    padding = bytes(-len(content) % ALIGNED)
    changed = bytearray(content + padding)
    struct.pack_into("<I", changed, place, len(changed) - place)
    return bytes(changed + struct.pack(f"<I{len(outputs)}i", len(outputs), *outputs))
