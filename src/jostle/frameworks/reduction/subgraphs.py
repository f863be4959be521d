"""Smaller graphs within a graph: some of its nodes alone, on what the reference computes for their inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from jostle.frameworks.edits.repairing import pruned
from jostle.frameworks.graph import INPUT, PARAMETER, Array, Graph, Leaf, TensorType, Training
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.reduction.simplifications import fitted

Tensors = Mapping[str, Array]


def subgraph(graph: Graph, names: Collection[str], tensors: Tensors) -> Graph:
    """These nodes alone; what they read of others is given as the reference has it, what nobody reads is an output."""
    types = types_of(graph)
    nodes = tuple(node for node in graph.nodes if node.name in names)
    read = dict.fromkeys(name for node in nodes for name in node.inputs)
    leaves = {name: _leaf(graph, name, tensors, types[name]) for name in read if name not in names}
    outputs = tuple(node.name for node in nodes if node.name not in read)
    return Graph(leaves, nodes, outputs)


def _leaf(graph: Graph, name: str, tensors: Tensors, type_: TensorType) -> Leaf:
    return graph.leaves[name] if name in graph.leaves else Leaf(INPUT, as_type(tensors[name], type_))


def as_type(values: Array, type_: TensorType) -> Array:
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


def cuts(graph: Graph, tensors: Tensors) -> Iterator[Graph]:
    """Every node alone; without what follows a node, or what precedes it; without a node in the middle."""
    names = [node.name for node in graph.nodes]
    if len(names) > 1:
        yield from (trained(graph.training, subgraph(graph, {name}, tensors)) for name in names)
    for place, name in enumerate(names):
        yield trained(graph.training, pruned(replace(graph, outputs=(name,), training=None)))
        yield trained(graph.training, subgraph(graph, names[place:], tensors))
        yield trained(graph.training, subgraph(graph, ancestors(graph, name), tensors))
        yield _given(graph, name, tensors)
        yield from _bypasses(graph, name)
    if len(graph.outputs) > 1:
        yield from (pruned(replace(graph, outputs=(name,))) for name in graph.outputs)


def _given(graph: Graph, name: str, tensors: Tensors) -> Graph:
    """The graph in which a node's result is an input."""
    leaf = Leaf(INPUT, as_type(tensors[name], types_of(graph)[name]))
    nodes = tuple(node for node in graph.nodes if node.name != name)
    return pruned(replace(graph, leaves={**graph.leaves, name: leaf}, nodes=nodes))


def _bypasses(graph: Graph, name: str) -> Iterator[Graph]:
    """The graph whose readers of a node read what the node reads."""
    types, node = types_of(graph), graph.node(name)
    for source in node.inputs:
        if types[source] == types[name] and name not in graph.outputs:
            nodes = [
                replace(one, inputs=tuple(source if read == name else read for read in one.inputs))
                for one in graph.nodes
                if one.name != name
            ]
            yield pruned(replace(graph, nodes=tuple(nodes)))


def trained(training: Training | None, smaller: Graph) -> Graph:
    """The smaller graph with the training of a larger one, on a target and a parameter of its own."""
    if training is None:
        return smaller
    if not smaller.named(PARAMETER):
        smaller = replace(smaller, leaves=_first_trained(smaller))
    return replace(smaller, training=fitted(training, smaller))


def _first_trained(graph: Graph) -> dict[str, Leaf]:
    leaves = dict(graph.leaves)
    first = next((name for name, leaf in leaves.items() if leaf.type.is_float), None)
    return leaves | ({first: replace(leaves[first], role=PARAMETER)} if first else {})
