"""ONNX nodes that compute one node of ours, as they are written in a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jostle.frameworks.backends.program import Call, Unsupported, literal
from jostle.frameworks.graph import Attributes, TensorType

ONNX_TYPES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "int8": "INT8",
    "uint8": "UINT8",
    "int32": "INT32",
    "int64": "INT64",
    "bool": "BOOL",
}


@dataclass(frozen=True)
class OnnxNode:
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, str]  # as they are written in Python

    def __str__(self) -> str:
        arguments = [repr(self.kind), literal(list(self.inputs)), literal(list(self.outputs))]
        arguments += [f"{name}={value}" for name, value in self.attributes.items()]
        return f"helper.make_node({', '.join(arguments)})"


@dataclass
class Sketch:
    """The ONNX nodes and constants for one of our nodes, as far as they are written.

    Names of what lies between have a point in them, which no name of ours has.
    """

    call: Call
    nodes: list[OnnxNode] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)  # arrays as they are written in Python

    def __getitem__(self, place: int) -> str:
        """The name of an input."""
        return self.call[place]

    @property
    def x(self) -> TensorType:
        return self.call.types[0]

    @property
    def attributes(self) -> Attributes:
        return self.call.attributes

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One more node; the name of its output."""
        return self.add_with_outputs(kind, 1, *inputs, **attributes)[0]

    def add_with_outputs(self, kind: str, count: int, *inputs: str, **attributes: Any) -> tuple[str, ...]:
        names = tuple(f"{self.call.node.name}.{kind.lower()}{len(self.nodes)}{'abc'[at]}" for at in range(count))
        written = {name: self._attribute(value) for name, value in attributes.items()}
        self.nodes.append(OnnxNode(kind, inputs, names, written))
        return names

    def _attribute(self, value: Any) -> str:
        """ONNX keeps attributes in float32, so that in float64 only some numbers mean what they say."""
        if isinstance(value, float) and self.x.dtype == "float64" and float(np.float32(value)) != value:
            raise Unsupported(f"keeps the attribute {value} in float32")
        return value.text if isinstance(value, Written) else literal(int(value) if isinstance(value, bool) else value)

    def constant(self, name: str, value: Any, dtype: str = "int64") -> str:
        """A constant; the name it has."""
        full = f"{self.call.node.name}.{name}"
        self.constants[full] = f'np.array({literal(value)}, "{dtype}")'
        return full

    def cast(self, name: str, dtype: str) -> str:
        return self.add("Cast", name, to=Written(f"TensorProto.{ONNX_TYPES[dtype]}"))

    def ended(self, result: str) -> Sketch:
        """The same with the name of our node for this result."""
        if result not in {name for node in self.nodes for name in node.outputs}:
            result = self.add("Identity", result)
        self.nodes = [_renamed(node, result, self.call.node.name) for node in self.nodes]
        return self


@dataclass(frozen=True)
class Written:
    """An attribute that is no literal."""

    text: str


def _renamed(node: OnnxNode, old: str, new: str) -> OnnxNode:
    def names(among: Sequence[str]) -> tuple[str, ...]:
        return tuple(new if name == old else name for name in among)

    return OnnxNode(node.kind, names(node.inputs), names(node.outputs), node.attributes)


# Writes what computes a node; the name of the result; Unsupported where there is nothing.
Sketcher = Callable[[Sketch], str]


def native(kind: str, *names: str, **attributes: Any) -> Sketcher:
    """One ONNX operator on the same inputs, with these attributes of ours and some that are fixed."""

    def sketch(sketch: Sketch) -> str:
        ours = {name: sketch.attributes[name] for name in names}
        return sketch.add(kind, *sketch.call.node.inputs, **ours, **attributes)

    return sketch


def chain(*kinds: str) -> Sketcher:
    """One ONNX operator after another, the first on all inputs."""

    def sketch(sketch: Sketch) -> str:
        inputs: tuple[str, ...] = sketch.call.node.inputs
        for kind in kinds:
            inputs = (sketch.add(kind, *inputs),)
        return inputs[0]

    return sketch


def missing(reason: str) -> Sketcher:
    def sketch(sketch: Sketch) -> str:
        raise Unsupported(reason)

    return sketch


def only_float32(sketcher: Sketcher, number: str) -> Sketcher:
    """ONNX writes a number of the definition itself in float32."""

    def sketch(sketch: Sketch) -> str:
        if sketch.x.dtype == "float64":
            raise Unsupported(f"keeps {number} in float32")
        return sketcher(sketch)

    return sketch


def with_list(kind: str, attribute: str) -> Sketcher:
    """What is an attribute with us is an input there."""
    return lambda s: s.add(kind, s[0], s.constant(attribute, s.attributes[attribute]))
