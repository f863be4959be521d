"""A model to run on every framework: a typed graph, its arrays, and how it is trained."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.frameworks.names import NAME, is_usable

Array = NDArray[Any]
Attributes = Mapping[str, Any]  # numbers, truth values, texts, and lists of them

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64")
DTYPES = (*FLOATS, *INTEGERS, "bool")
# How an input lies in memory where a framework lets a user choose; its values are the same.
LAYOUTS = ("contiguous", "transposed", "strided", "channels_last", "expanded")
STYLES = ("plain", "in_place", "view")  # how torch computes a node; the result is the same
INPUT, PARAMETER, CONSTANT = "input", "parameter", "constant"
ROLES = (INPUT, PARAMETER, CONSTANT)  # of an array: given, trained, neither
LONGEST_OPERATOR = 100  # characters that are read
LARGEST_WHOLE = 2**63 - 1  # what every framework can be given


class Invalid(Exception):
    """A graph, node or attribute that no framework could run; the message says why."""


@dataclass(frozen=True)
class TensorType:
    """Shape and dtype of a tensor, which are known before anything runs."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

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
    """Nodes in an order in which they can run; arrays are never changed in place."""

    leaves: Mapping[str, Leaf]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    training: Training | None = None

    @cached_property
    def encoded(self) -> bytes:
        """The graph as files and worker processes get it; computed once."""
        return encode(self)

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
    """The graph as one line of JSON, arrays as base64 of their bytes."""
    return json.dumps(graph_as_json(graph), separators=(",", ":")).encode()


def encode_readably(graph: Graph) -> bytes:
    """The same on many lines, for people."""
    return (json.dumps(graph_as_json(graph), indent=2) + "\n").encode()


def decode(content: bytes | str) -> Graph:
    """The graph that was encoded; Invalid if the content is anything else."""
    try:
        return graph_from_json(json.loads(content))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        raise Invalid(f"no description of a graph ({type(error).__name__}: {str(error)[:200]})") from error


def graph_as_json(graph: Graph) -> dict[str, Any]:
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
    description: dict[str, Any] = {"leaves": leaves, "nodes": nodes, "outputs": list(graph.outputs)}
    if graph.training is not None:
        description["training"] = vars(graph.training) | {
            "target": array_as_json(graph.training.target),
            "settings": dict(graph.training.settings),
        }
    return description


def graph_from_json(description: Mapping[str, Any]) -> Graph:
    leaves = {
        _name(name): Leaf(_one_of(leaf["role"], ROLES), array_from_json(leaf), _one_of(leaf["layout"], LAYOUTS))
        for name, leaf in description["leaves"].items()
    }
    nodes = tuple(
        Node(
            _name(node["name"]),
            str(node["operator"])[:LONGEST_OPERATOR],
            _names(node["inputs"]),
            {_word(key): _attribute(value) for key, value in node["attributes"].items()},
            _one_of(node["style"], STYLES),
        )
        for node in description["nodes"]
    )
    training = description.get("training")
    return Graph(leaves, nodes, _names(description["outputs"]), None if training is None else _training(training))


def _training(description: Mapping[str, Any]) -> Training:
    """A training whose names and numbers are safe to write into programs; ValueError otherwise."""
    read: Mapping[str, Callable[[Any], Any]] = {
        **dict.fromkeys(("loss", "penalty", "optimiser"), _word),
        "target": array_from_json,
        "strength": _finite,
        "settings": lambda settings: {_word(name): _finite(value) for name, value in settings.items()},
        "steps": _whole,
    }
    unknown = description.keys() - read.keys()
    if unknown:
        raise ValueError(f"a training has no {', '.join(sorted(unknown))}")
    return Training(**{name: read[name](value) for name, value in description.items()})


def array_as_json(array: Array) -> dict[str, Any]:
    content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"shape": list(array.shape), "dtype": array.dtype.name, "bytes": content}


def array_from_json(description: Mapping[str, Any]) -> Array:
    """The array that was described; ValueError unless there are as many bytes as its shape needs."""
    dtype = np.dtype(_one_of(description["dtype"], DTYPES))
    shape = [_whole(size) for size in description["shape"]]
    content = base64.b64decode(description["bytes"], validate=True)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"{len(content)} bytes are no {dtype.name} of shape {shape}")
    return np.frombuffer(content, dtype).reshape(shape).copy()


def _name(text: str) -> str:
    """A tensor's name; ValueError if it cannot be a name in generated programs."""
    if not is_usable(_word(text)):
        raise ValueError(f"{text!r} is a name that generated programs use for something else")
    return text


def _names(texts: list[str]) -> tuple[str, ...]:
    if not isinstance(texts, list):
        raise TypeError(f"{texts!r} is no list of names")
    return tuple(map(_name, texts))


def _word(text: str) -> str:
    """A text of letters, digits and underscores, which is harmless wherever a program holds it; else ValueError."""
    if not NAME.fullmatch(text):
        raise ValueError(f"{text[:100]!r} is no name")
    return text


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST_WHOLE:
        raise ValueError(f"{value!r} is no whole number of 64 bits")
    return value


def _finite(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return value


def _one_of(text: str, choice: Sequence[str]) -> str:
    if text not in choice:
        raise ValueError(f"{text!r} is none of {', '.join(choice)}")
    return text


def _attribute(value: Any) -> Any:
    """A plain value, or a list of them, because attributes become literals in generated programs."""
    if isinstance(value, list):
        return [_attribute(item) for item in value]
    if isinstance(value, bool | float):
        return value
    return _word(value) if isinstance(value, str) else _whole(value)


def fresh_names(graph: Graph, stem: str) -> Iterator[str]:
    """Names for new tensors: no tensor of the graph has such a name, or one that continues it by an underscore."""
    taken = {*graph.leaves, *(node.name for node in graph.nodes)}
    number = 0
    while True:
        number += 1
        name = f"{stem}{number}"
        if is_usable(name) and name not in taken and not any(one.startswith(f"{name}_") for one in taken):
            yield name
