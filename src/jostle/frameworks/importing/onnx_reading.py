"""What is known while an ONNX model is read node by node, and how ours are added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jostle.errors import ModelRefused
from jostle.frameworks.graph import CONSTANT, DTYPES, FLOATS, PARAMETER, Array, Leaf, Node, TensorType
from jostle.frameworks.names import usable_name
from jostle.frameworks.operators.all_operators import type_of
from jostle.frameworks.size_limit import most_elements

SMALL = 4096  # elements of what is written into one attribute


class NoCounterpart(Exception):
    """An operator or attribute that our graphs have nothing for; its text names it."""


@dataclass(frozen=True)
class Read:
    """One node of the file: its inputs without those left out at the end, its attributes as plain values."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    opset: int

    def has(self, place: int) -> bool:
        return place < len(self.inputs) and self.inputs[place] != ""

    def only(self, **allowed: Any) -> None:
        """These attributes may have these values, or be left out."""
        for name, value in allowed.items():
            if self.attributes.get(name, value) != value:
                raise NoCounterpart(f"{self.kind} with {name}={self.attributes[name]}")

    def without(self, *places: int) -> None:
        """These inputs may not be given."""
        for place in places:
            if self.has(place):
                raise NoCounterpart(f"{self.kind} with input {place}")


@dataclass
class Reading:
    """A graph as far as it is read; tensors of the file under their names there."""

    leaves: dict[str, Leaf] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    types: dict[str, TensorType] = field(default_factory=dict)  # by our names
    names: dict[str, str] = field(default_factory=dict)  # ours for theirs
    arrays: dict[str, Array] = field(default_factory=dict)  # of the file, by their names; leaves where nodes read them

    def add_leaf(self, role: str, array: Array, theirs: str) -> str:
        if array.dtype.name not in DTYPES:
            raise NoCounterpart(f"dtype {array.dtype.name}")
        name = usable_name(theirs, self.types)
        self.leaves[name] = Leaf(role, array)
        self.types[name] = self.leaves[name].type
        return name

    def constant(self, array: Array, theirs: str = "constant") -> str:
        """A leaf of this array: trained if it is of floats."""
        return self.add_leaf(PARAMETER if array.dtype.name in FLOATS else CONSTANT, array, theirs)

    def number(self, value: float, like: str) -> str:
        """A leaf of one number, which is not trained."""
        return self.add_leaf(CONSTANT, np.array(value, self.types[like].dtype), "number")

    def tensor(self, theirs: str) -> str:
        """Our name of a tensor of theirs."""
        if theirs not in self.names:
            if theirs not in self.arrays:
                raise ModelRefused(f"reads {theirs!r}, which nothing computes")
            self.names[theirs] = self.constant(self.arrays[theirs], theirs)
        return self.names[theirs]

    def known(self, node: Read, place: int) -> Array:
        """An input that must be known before the model runs."""
        if node.inputs[place] not in self.arrays:
            raise NoCounterpart(f"{node.kind} with a computed input {place}")
        return self.arrays[node.inputs[place]]

    def whole(self, node: Read, place: int) -> list[int]:
        """Such an input of few whole numbers."""
        array = self.known(node, place)
        if array.size > SMALL or array.dtype.kind not in "iu":
            raise NoCounterpart(f"{node.kind} with an input {place} of {array.size} {array.dtype.name}")
        return [int(value) for value in array.ravel()]

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """One more node of ours; its name."""
        node = Node(usable_name(operator, self.types), operator, inputs, attributes)
        type_ = type_of(node, [self.types[name] for name in inputs])
        if type_.size > most_elements():
            raise ModelRefused(f"computes {type_.size:,} elements, more than this machine's memory is enough for")
        self.nodes.append(node)
        self.types[node.name] = type_
        return node.name

    def type(self, ours: str) -> TensorType:
        return self.types[ours]

    def reshaped(self, ours: str, shape: Sequence[int]) -> str:
        return ours if self.types[ours].shape == tuple(shape) else self.add("reshape", ours, shape=list(shape))


def axis_of(value: int, rank: int) -> int:
    """Counted from the start."""
    return value + rank if value < 0 else value


def numbers(g: Reading, node: Read, attribute: str, place: int) -> list[int] | None:
    """What older opsets write as an attribute and newer ones as an input."""
    if node.has(place):
        return g.whole(node, place)
    return list(node.attributes[attribute]) if attribute in node.attributes else None


# Adds what a node computes; our names of its outputs, as many as it has.
Counterpart = Callable[[Reading, Read], Sequence[str]]
