"""ONNX files as graphs; the file is a stranger's, so that whatever is wrong with it is refused in one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import ModelRefused
from jostle.frameworks.graph import INPUT, Array, Graph, Invalid
from jostle.frameworks.importing.onnx_convolutions import CONVOLUTIONS
from jostle.frameworks.importing.onnx_elementwise import DTYPE_OF, ELEMENTWISE
from jostle.frameworks.importing.onnx_indexing import INDEXING
from jostle.frameworks.importing.onnx_layers import LAYERS
from jostle.frameworks.importing.onnx_normalisation import NORMALISATION
from jostle.frameworks.importing.onnx_pooling import POOLING
from jostle.frameworks.importing.onnx_reading import MOST_ELEMENTS, SMALL, NoCounterpart, Read, Reading
from jostle.frameworks.importing.onnx_reductions import REDUCTIONS
from jostle.frameworks.importing.onnx_sampling import SAMPLING
from jostle.frameworks.importing.onnx_shaping import SHAPING
from jostle.frameworks.operators.all_operators import types_of
from jostle.untrusted.files import check_regular, read_bounded

COUNTERPARTS = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPING,
    **INDEXING,
    **CONVOLUTIONS,
    **POOLING,
    **NORMALISATION,
    **SAMPLING,
    **LAYERS,
}
# Arithmetic of shapes, which is done while reading.
FOLDED = {"Gather", "Unsqueeze", "Squeeze", "Concat", "Cast", "Slice", "Add", "Sub", "Mul", "Div"}
LARGEST_FILE = 512 * 2**20  # bytes
OLDEST_OPSET = 9
# What onnx's own evaluator and our reading raise on models that are none.
BROKEN = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, AssertionError, RuntimeError)


def graph_from_onnx(path: Path, rng: np.random.Generator, batch: int = 2) -> Graph:
    """The model in a file, with random inputs; a first axis without a size becomes the batch."""
    try:
        return _graph(_loaded(path), rng, batch)
    except ModelRefused as error:
        raise ModelRefused(f"{path}: {error}") from error


def _loaded(path: Path) -> Any:
    """The model, found sound by the checker of onnx."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        check_regular(path)
        if path.stat().st_size > LARGEST_FILE:
            raise ModelRefused(f"is larger than {LARGEST_FILE // 2**20} MiB")
        model = onnx.load_model_from_string(read_bounded(path, LARGEST_FILE))
        _refuse_external(model)
        onnx.checker.check_model(model)
    except (OSError, ValueError, DecodeError, onnx.checker.ValidationError) as error:
        raise ModelRefused(f"is no ONNX model ({_first_line(error)})") from error
    return model


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _refuse_external(model: Any) -> None:
    """Data in other files could be any file of the user's."""
    for tensor in _tensors(model.graph):
        if tensor.data_location or tensor.external_data:
            raise ModelRefused(f"keeps {tensor.name!r} in another file; save it as one file")


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for node in graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))
        yield from (tensor for attribute in node.attribute for tensor in attribute.tensors)


def _graph(model: Any, rng: np.random.Generator, batch: int) -> Graph:
    opset = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), 0)
    if opset < OLDEST_OPSET or model.graph.sparse_initializer:
        raise ModelRefused(f"is of opset {opset} or sparse; {OLDEST_OPSET} is the oldest that is read")
    g = Reading()
    lacking: set[str] = set()
    try:
        g.arrays = {tensor.name: _array(tensor) for tensor in model.graph.initializer}
        _add_inputs(g, model.graph, rng, batch)
    except (NoCounterpart, Invalid, *BROKEN) as error:
        raise ModelRefused(f"has an input or weight that cannot be: {_first_line(error)}") from error
    for node in model.graph.node:
        _add_node(g, node, opset, lacking)
    if lacking:
        raise ModelRefused(f"uses what has no counterpart: {', '.join(sorted(lacking))}")
    return _finished(g, [output.name for output in model.graph.output])


def _array(tensor: Any) -> Array:
    from onnx import numpy_helper

    if int(np.prod(tensor.dims, dtype=np.float64)) > MOST_ELEMENTS:
        raise ValueError(f"{tensor.name} has more than {MOST_ELEMENTS:,} elements")
    return np.array(numpy_helper.to_array(tensor))


def _add_inputs(g: Reading, graph: Any, rng: np.random.Generator, batch: int) -> None:
    for value in graph.input:
        if value.name not in g.arrays:
            g.names[value.name] = g.add_leaf(INPUT, _values(value, rng, batch), value.name)


def _values(value: Any, rng: np.random.Generator, batch: int) -> Array:
    """Numbers for an input: floats of any kind, and of whole numbers 0 and 1, which are positions nearly anywhere."""
    tensor = value.type.tensor_type
    sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim]
    shape = [batch if at == 0 and size < 0 else size for at, size in enumerate(sizes)]
    if not tensor.HasField("shape") or min(shape, default=0) < 0:
        raise NoCounterpart(f"{value.name} has axes without sizes")
    if int(np.prod(shape, dtype=np.float64)) > MOST_ELEMENTS or tensor.elem_type not in DTYPE_OF:
        raise NoCounterpart(f"{value.name} is too large or of dtype {tensor.elem_type}")
    dtype = np.dtype(DTYPE_OF[tensor.elem_type])
    drawn = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
    return np.asarray(drawn).astype(dtype)


def _add_node(g: Reading, node: Any, opset: int, lacking: set[str]) -> None:
    """Adds a node, or what of it is lacking; what reads a lacking one is left out."""
    try:
        read = _read(node, opset)
        if node.op_type != "Constant" and read.kind not in COUNTERPARTS and read.kind != "Shape":
            raise NoCounterpart(f"{node.domain}.{node.op_type}" if node.domain else node.op_type)
        if all(name in g.names or name in g.arrays for name in read.inputs if name):
            _compute(g, read, node)
    except NoCounterpart as error:
        lacking.add(str(error))
    except Invalid as error:
        lacking.add(f"{node.op_type} ({error})")
    except BROKEN as error:
        raise ModelRefused(f"cannot be read at {node.op_type} {node.name!r}: {_first_line(error)}") from error


def _read(node: Any, opset: int) -> Read:
    from onnx import helper

    if any(one.HasField("g") or one.graphs or one.ref_attr_name for one in node.attribute):
        raise NoCounterpart(node.op_type)
    attributes = {one.name: _plain(helper.get_attribute_value(one)) for one in node.attribute}
    kind = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
    return Read(kind, tuple(node.input), tuple(node.output), attributes, opset)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _compute(g: Reading, read: Read, node: Any) -> None:
    if read.kind == "Constant":
        g.arrays[read.outputs[0]] = _constant(read)
    elif read.kind == "Shape":
        g.arrays[read.outputs[0]] = _shape(g, read)
    elif read.kind in FOLDED and all(_foldable(g, name) for name in read.inputs):
        g.arrays[read.outputs[0]] = _folded(g, read, node)
    else:
        ours = COUNTERPARTS[read.kind](g, read)
        g.names |= {theirs: name for theirs, name in zip(read.outputs, ours, strict=False) if theirs}


def _constant(read: Read) -> Array:
    (name, value), *_ = read.attributes.items()
    dtypes = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
    if name == "value":
        return _array(value)
    if name not in dtypes:
        raise NoCounterpart(f"Constant with {name}")
    return np.array(value, dtypes[name])


def _shape(g: Reading, read: Read) -> Array:
    theirs = read.inputs[0]
    shape = g.arrays[theirs].shape if theirs in g.arrays else g.type(g.tensor(theirs)).shape
    return np.array(shape[read.attributes.get("start", 0) : read.attributes.get("end", None)], np.int64)


def _foldable(g: Reading, name: str) -> bool:
    return name in g.arrays and g.arrays[name].size <= SMALL and g.arrays[name].dtype.kind in "iub"


def _folded(g: Reading, read: Read, node: Any) -> Array:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(node, opsets={"": read.opset})
    results: Any = evaluator.run(None, {name: g.arrays[name] for name in read.inputs})
    return np.asarray(results[0])


def _finished(g: Reading, outputs: list[str]) -> Graph:
    try:
        graph = Graph(g.leaves, tuple(g.nodes), tuple(g.tensor(name) for name in outputs))
        types_of(graph)
    except (Invalid, NoCounterpart) as error:
        raise ModelRefused(f"has outputs that cannot be: {error}") from error
    return graph
