"""ONNX files as graphs; the file is a stranger's, so that whatever is wrong with it is refused in one line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jostle.errors import ModelRefused
from jostle.frameworks.graph import DTYPES, INPUT, Array, Graph, Invalid
from jostle.frameworks.importing.imported import Imported
from jostle.frameworks.importing.onnx_convolutions import CONVOLUTIONS
from jostle.frameworks.importing.onnx_elementwise import ELEMENTWISE
from jostle.frameworks.importing.onnx_indexing import INDEXING
from jostle.frameworks.importing.onnx_inputs import NOTHING_GIVEN, GivenInputs, arrays_for, symbols_of
from jostle.frameworks.importing.onnx_layers import LAYERS
from jostle.frameworks.importing.onnx_loading import first_line, loaded
from jostle.frameworks.importing.onnx_normalisation import NORMALISATION
from jostle.frameworks.importing.onnx_pooling import POOLING
from jostle.frameworks.importing.onnx_reading import SMALL, NoCounterpart, Read, Reading
from jostle.frameworks.importing.onnx_reductions import REDUCTIONS
from jostle.frameworks.importing.onnx_sampling import SAMPLING
from jostle.frameworks.importing.onnx_shaping import SHAPING
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.size_limit import most_elements
from jostle.frameworks.workers.onnx_values import OnnxValues

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
FOLDED = {
    *("Gather", "Unsqueeze", "Squeeze", "Concat", "Cast", "Slice", "Reshape", "Transpose", "Add", "Sub", "Mul", "Div")
}
READ_HERE = {"Constant", "Shape", "ConstantOfShape"}
OLDEST_OPSET = 9
# What onnx's own evaluator and our reading raise on models that are none.
BROKEN = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, AssertionError, RuntimeError)


class LacksInput(NoCounterpart):
    """A node that reads what has no counterpart, or what our graphs cannot hold."""


# Values of tensors in the file by name; of those that our graphs cannot hold the dtype.
Values = Callable[[Sequence[str]], Mapping[str, Array | str]]


def graph_from_onnx(path: Path, rng: np.random.Generator, given: GivenInputs = NOTHING_GIVEN) -> Graph:
    return whole_onnx(path, rng, given).graph


def whole_onnx(path: Path, rng: np.random.Generator, given: GivenInputs = NOTHING_GIVEN) -> Imported:
    """The model in a file; refused, with all that is lacking, where something has no counterpart."""
    try:
        reader = _Reader(loaded(path), rng, given)
        return reader.whole()
    except ModelRefused as error:
        raise ModelRefused(f"{path}: {error}") from error


def partial_onnx(path: Path, rng: np.random.Generator, given: GivenInputs = NOTHING_GIVEN) -> Imported:
    """What of it has a counterpart, on values that ONNX Runtime computes where something has none."""
    try:
        reader = _Reader(loaded(path), rng, given)
        with OnnxValues(path, reader.given) as values:
            return reader.partly(values)
    except ModelRefused as error:
        raise ModelRefused(f"{path}: {error}") from error


class _Reader:
    """Reads one model node by node."""

    def __init__(self, model: Any, rng: np.random.Generator, given: GivenInputs):
        self._model, self._g = model, Reading()
        self._opset = next((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), 0)
        if self._opset < OLDEST_OPSET or model.graph.sparse_initializer:
            raise ModelRefused(f"is of opset {self._opset} or sparse; {OLDEST_OPSET} is the oldest that is read")
        try:
            self._g.arrays = {tensor.name: _array(tensor) for tensor in model.graph.initializer}
            self._inputs = [value for value in model.graph.input if value.name not in self._g.arrays]
            self.given = arrays_for(self._inputs, given, rng)
            for theirs, array in self.given.items():
                self._g.names[theirs] = self._g.add_leaf(INPUT, array, theirs)
        except (NoCounterpart, Invalid, *BROKEN) as error:
            raise ModelRefused(f"has an input or weight that cannot be: {first_line(error)}") from error
        self._named = Counter(node.name for node in model.graph.node)
        self._origins: dict[str, str] = {}
        self._folded = 0

    def whole(self) -> Imported:
        lacking = set()
        for node in self._model.graph.node:
            try:
                self._add(node)
            except LacksInput:
                pass  # what it reads is told
            except NoCounterpart as reason:
                lacking.add(str(reason))
        if lacking:
            raise ModelRefused(f"uses what has no counterpart: {', '.join(sorted(lacking))}")
        return self._imported([output.name for output in self._model.graph.output], {})

    def partly(self, values: Values) -> Imported:
        left_out = {}
        for node in self._model.graph.node:
            try:
                self._add(node)
            except NoCounterpart as reason:
                left_out[self._label(node)] = str(reason)
                self._give(values([name for name in node.output if name]))
        read = {name for node in self._g.nodes for name in node.inputs}
        computed = {ours: theirs for theirs, ours in self._g.names.items()}
        ends = [computed[node.name] for node in self._g.nodes if node.name not in read and node.name in computed]
        if not ends:
            lacking = ", ".join(sorted(set(left_out.values()))) or "all of its nodes are constants"
            raise ModelRefused(f"has nothing that can be compared: {lacking}")
        return self._imported(ends, left_out)

    def _add(self, node: Any) -> None:
        """Adds a node; NoCounterpart if it, or what it reads, has none."""
        before = len(self._g.nodes)
        try:
            read = _read(node, self._opset)
            for name in read.inputs:
                if name and name not in self._g.names and name not in self._g.arrays:
                    raise LacksInput(f"{node.op_type} of {name}, which our graphs do not hold")
            _compute(self._g, read, node)
        except (NoCounterpart, Invalid) as reason:
            del self._g.nodes[before:]
            raise reason if isinstance(reason, NoCounterpart) else NoCounterpart(f"{node.op_type} ({reason})") from None
        except BROKEN as error:
            message = f"cannot be read at {node.op_type} {node.name!r}: {first_line(error)}"
            raise ModelRefused(message) from error
        self._origins |= {one.name: self._label(node) for one in self._g.nodes[before:]}
        self._folded += len(self._g.nodes) == before

    def _label(self, node: Any) -> str:
        """The name of a node in the file, or of what it computes."""
        named = node.name and self._named[node.name] == 1
        return str(node.name if named else next(iter(node.output), node.op_type))

    def _give(self, values: Mapping[str, Array | str]) -> None:
        """Tensors that are given from now on; small ones of whole numbers are known, as sizes and axes are."""
        for theirs, value in values.items():
            if isinstance(value, str) or value.dtype.name not in DTYPES:
                continue
            if value.size <= SMALL and value.dtype.kind in "iub":
                self._g.arrays[theirs] = value
            else:
                self._g.names[theirs] = self._g.add_leaf(INPUT, value, theirs)

    def _imported(self, outputs: Sequence[str], left_out: Mapping[str, str]) -> Imported:
        try:
            names = tuple(self._g.tensor(name) for name in outputs)
            used = {*names, *(name for node in self._g.nodes for name in node.inputs)}
            used |= {self._g.names[theirs] for theirs in self.given}
            leaves = {name: leaf for name, leaf in self._g.leaves.items() if name in used}
            graph = Graph(leaves, tuple(self._g.nodes), names)
            types_of(graph)
        except (Invalid, NoCounterpart) as error:
            raise ModelRefused(f"has outputs that cannot be: {error}") from error
        inputs, symbols = frozenset(self.given), symbols_of(self._inputs)
        return Imported(graph, self._origins, left_out, self._folded, inputs, symbols)


def _array(tensor: Any) -> Array:
    from onnx import numpy_helper

    if int(np.prod(tensor.dims, dtype=np.float64)) > most_elements():
        raise ValueError(f"{tensor.name} has more elements than this machine's memory is enough for")
    return np.array(numpy_helper.to_array(tensor))


def _read(node: Any, opset: int) -> Read:
    from onnx import helper

    if any(one.HasField("g") or one.graphs or one.ref_attr_name for one in node.attribute):
        raise NoCounterpart(node.op_type)
    attributes = {one.name: _plain(helper.get_attribute_value(one)) for one in node.attribute}
    kind = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
    if kind not in COUNTERPARTS and kind not in READ_HERE:
        raise NoCounterpart(kind)
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
    elif read.kind == "ConstantOfShape":
        g.arrays[read.outputs[0]] = _filled(g, read)
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


def _filled(g: Reading, read: Read) -> Array:
    shape, value = g.whole(read, 0), read.attributes.get("value")
    if math.prod(shape) > most_elements():
        raise NoCounterpart(f"ConstantOfShape of {math.prod(shape):,} elements")
    filling = np.zeros(1, np.float32) if value is None else _array(value)
    return np.full(shape, filling.flat[0])


def _foldable(g: Reading, name: str) -> bool:
    return name in g.arrays and g.arrays[name].size <= SMALL and g.arrays[name].dtype.kind in "iub"


def _folded(g: Reading, read: Read, node: Any) -> Array:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(node, opsets={"": read.opset})
    results: Any = evaluator.run(None, {name: g.arrays[name] for name in read.inputs})
    return np.asarray(results[0])
