"""A graph in the making: leaves and nodes get names and types as they are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jostle.frameworks.graph import CONSTANT, DTYPES, INPUT, Array, Graph, Invalid, Leaf, Node, TensorType
from jostle.frameworks.names import usable_name
from jostle.frameworks.operators.all_operators import type_of


class GraphBuilder:
    """Remembers what was added; every tensor has another name."""

    def __init__(self) -> None:
        self.leaves: dict[str, Leaf] = {}
        self.nodes: list[Node] = []
        self.types: dict[str, TensorType] = {}

    def leaf(self, wanted: str, role: str, array: Array) -> str:
        if array.dtype.name not in DTYPES:
            raise Invalid(f"{wanted} is of {array.dtype.name}, not of {', '.join(DTYPES)}")
        name = usable_name(wanted, self.types)
        self.leaves[name] = Leaf(role, array)
        self.types[name] = self.leaves[name].type
        return name

    def constant(self, value: Any, dtype: str) -> str:
        return self.leaf("constant", CONSTANT, np.asarray(value, dtype))

    def full(self, shape: Sequence[int], value: float, dtype: str) -> str:
        return self.constant(np.full(shape, value), dtype)

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        return self.add(operator, inputs, attributes)

    def add(self, operator: str, inputs: Sequence[str], attributes: Mapping[str, Any]) -> str:
        name = usable_name(operator, self.types)
        node = Node(name, operator, tuple(inputs), dict(attributes))
        self.types[name] = type_of(node, [self.types[one] for one in inputs])
        self.nodes.append(node)
        return name

    def reshaped(self, name: str, shape: Sequence[int]) -> str:
        """The same tensor if it has this shape already."""
        if self.types[name].shape == tuple(shape):
            return name
        return self.node("reshape", name, shape=[int(size) for size in shape])

    def as_dtype(self, name: str, dtype: str) -> str:
        return name if self.types[name].dtype == dtype else self.node("cast", name, to=dtype)

    def graph(self, outputs: Sequence[str]) -> Graph:
        """What the outputs need, and all inputs."""
        needed, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if node.name in needed:
                nodes.append(node)
                needed.update(node.inputs)
        leaves = {name: leaf for name, leaf in self.leaves.items() if name in needed or leaf.role == INPUT}
        return Graph(leaves, tuple(reversed(nodes)), tuple(outputs))
