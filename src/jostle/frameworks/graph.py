"""A model to run on every framework: a typed graph, its arrays, and how it is trained."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Attributes = Mapping[str, Any]  # numbers, truth values, texts, and lists of them

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64")
DTYPES = (*FLOATS, *INTEGERS, "bool")
# How an input lies in memory where a framework lets a user choose; its values are the same.
LAYOUTS = ("contiguous", "transposed", "strided", "channels_last", "expanded")
STYLES = ("plain", "in_place", "view")  # how torch is told to compute a node; the result is the same
INPUT, PARAMETER, CONSTANT = "input", "parameter", "constant"
ROLES = (INPUT, PARAMETER, CONSTANT)  # of an array: given, trained, neither
NAME = re.compile(r"[a-z][a-z0-9_]*")


class Invalid(Exception):
    """A graph, node or attribute that no framework could run; says why."""


@dataclass(frozen=True)
class TensorType:
    """What is known of a tensor before anything runs."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Node:
    """One operator applied to tensors by name; its output bears its own name."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    attributes: Attributes = field(default_factory=dict)
    style: str = "plain"


@dataclass(frozen=True)
class Leaf:
    """A tensor that no node computes."""

    role: str
    array: Array
    layout: str = "contiguous"

    @property
    def type(self) -> TensorType:
        return TensorType(tuple(self.array.shape), self.array.dtype.name)


@dataclass(frozen=True)
class Training:
    """How the parameters are trained: k steps on the graph's only batch."""

    loss: str
    target: Array  # what the first output is compared with
    penalty: str = "none"
    strength: float = 0.0  # of the penalty
    optimiser: str = "sgd"
    settings: Mapping[str, float] = field(default_factory=dict)  # of the optimiser
    steps: int = 1


@dataclass(frozen=True)
class Graph:
    """Nodes in an order in which they can run; equal graphs have equal digests."""

    leaves: Mapping[str, Leaf]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    training: Training | None = None

    def named(self, role: str) -> list[str]:
        return [name for name, leaf in self.leaves.items() if leaf.role == role]

    def node(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    def readers(self, name: str) -> list[Node]:
        return [node for node in self.nodes if name in node.inputs]

    def without_training(self) -> Graph:
        return replace(self, training=None)

    def digest(self) -> str:
        """Equal for equal graphs."""
        return hashlib.sha256(encode(self)).hexdigest()[:16]


def encode(graph: Graph) -> bytes:
    """The graph as JSON, arrays as base64 of their bytes."""
    return json.dumps(as_json(graph), separators=(",", ":")).encode()


def decode(content: bytes | str) -> Graph:
    """The graph in such a text; anything else raises Invalid."""
    try:
        return from_json(json.loads(content))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Invalid(f"no description of a graph ({type(error).__name__}: {error})") from error


def as_json(graph: Graph) -> dict[str, Any]:
    leaves = {
        name: {"role": leaf.role, "layout": leaf.layout, **array_as_json(leaf.array)}
        for name, leaf in graph.leaves.items()
    }
    nodes = [
        {
            "name": node.name,
            "operator": node.operator,
            "inputs": list(node.inputs),
            "attributes": dict(node.attributes),
            "style": node.style,
        }
        for node in graph.nodes
    ]
    told: dict[str, Any] = {"leaves": leaves, "nodes": nodes, "outputs": list(graph.outputs)}
    if graph.training is not None:
        told["training"] = vars(graph.training) | {
            "target": array_as_json(graph.training.target),
            "settings": dict(graph.training.settings),
        }
    return told


def from_json(told: Mapping[str, Any]) -> Graph:
    leaves = {
        _name(name): Leaf(_one_of(leaf["role"], ROLES), array_from_json(leaf), _one_of(leaf["layout"], LAYOUTS))
        for name, leaf in told["leaves"].items()
    }
    nodes = tuple(
        Node(
            _name(node["name"]),
            str(node["operator"]),
            tuple(map(_name, node["inputs"])),
            {_name(key): _attribute(value) for key, value in node["attributes"].items()},
            _one_of(node["style"], STYLES),
        )
        for node in told["nodes"]
    )
    training = told.get("training")
    if training is not None:
        training = Training(**{**training, "target": array_from_json(training["target"])})
    return Graph(leaves, nodes, tuple(map(_name, told["outputs"])), training)


def array_as_json(array: Array) -> dict[str, Any]:
    content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"shape": list(array.shape), "dtype": array.dtype.name, "bytes": content}


def array_from_json(told: Mapping[str, Any]) -> Array:
    dtype = np.dtype(_one_of(told["dtype"], DTYPES))
    return np.frombuffer(base64.b64decode(told["bytes"]), dtype).reshape([int(size) for size in told["shape"]]).copy()


def _name(text: str) -> str:
    """Names become names in generated programs, so they are letters, digits and underscores."""
    if not NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no name")
    return text


def _one_of(text: str, choice: Sequence[str]) -> str:
    if text not in choice:
        raise ValueError(f"{text!r} is none of {', '.join(choice)}")
    return text


def _attribute(value: Any) -> Any:
    """Attributes become literals in generated programs, so they are plain values."""
    if isinstance(value, list):
        return [_attribute(item) for item in value]
    if not isinstance(value, bool | int | float | str) or (isinstance(value, str) and not NAME.fullmatch(value)):
        raise ValueError(f"{value!r} is no attribute")
    return value


def fresh_names(graph: Graph, stem: str) -> Iterator[str]:
    """Names that the graph does not use."""
    taken = {*graph.leaves, *(node.name for node in graph.nodes)}
    number = 0
    while True:
        number += 1
        if f"{stem}{number}" not in taken:
            yield f"{stem}{number}"
