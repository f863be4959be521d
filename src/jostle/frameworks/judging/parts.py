"""Parts of a graph that run alone, on what the reference computes for their inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from jostle.frameworks.graph import INPUT, Array, Graph, Leaf, TensorType
from jostle.frameworks.operators.all_operators import types_of

Tensors = Mapping[str, Array]


def part(graph: Graph, names: Collection[str], tensors: Tensors) -> Graph:
    """These nodes alone; what they read of others is given as the reference has it, what nobody reads is an output."""
    types = types_of(graph)
    nodes = tuple(node for node in graph.nodes if node.name in names)
    read = dict.fromkeys(name for node in nodes for name in node.inputs)
    leaves = {name: _leaf(graph, name, tensors, types[name]) for name in read if name not in names}
    outputs = tuple(node.name for node in nodes if node.name not in read)
    return Graph(leaves, nodes, outputs)


def _leaf(graph: Graph, name: str, tensors: Tensors, type_: TensorType) -> Leaf:
    return graph.leaves[name] if name in graph.leaves else Leaf(INPUT, held(tensors[name], type_))


def held(values: Array, type_: TensorType) -> Array:
    """What the reference computed, as a tensor of this type holds it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(type_.dtype).reshape(type_.shape)


def ancestors(graph: Graph, name: str) -> set[str]:
    """The nodes that a node needs, with itself."""
    nodes = {node.name: node for node in graph.nodes}
    needed, left = set[str](), [name]
    while left:
        one = left.pop()
        if one in nodes and one not in needed:
            needed.add(one)
            left.extend(nodes[one].inputs)
    return needed
