"""What makes an edited graph valid again: shape adapters, and no loose ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from jostle.frameworks.graph import Graph, Invalid, Node, TensorType, fresh_names
from jostle.frameworks.operators.all_operators import LARGEST, type_of, types_of
from jostle.frameworks.training import check_training

MOST_NODES = 30

# What each node read when it was last valid.
Read = Mapping[str, Sequence[TensorType]]


def read_by(graph: Graph) -> dict[str, list[TensorType]]:
    types = types_of(graph)
    return {node.name: [types[name] for name in node.inputs] for node in graph.nodes}


def repaired(graph: Graph, read: Read) -> Graph:
    """The graph with adapters where a node cannot read what it now gets, and without what nobody reads."""
    types = {name: leaf.type for name, leaf in graph.leaves.items()}
    names = fresh_names(graph, "fit")
    nodes: list[Node] = []
    for node in graph.nodes:
        for one in _fitted(node, types, read.get(node.name, ()), names):
            nodes.append(one)
            types[one.name] = type_of(one, [types[name] for name in one.inputs])
    return bounded(checked(pruned(replace(graph, nodes=tuple(nodes)))), read)


def _fitted(
    node: Node, types: Mapping[str, TensorType], read: Sequence[TensorType], names: Iterator[str]
) -> list[Node]:
    """The node, after adapters if it needs them."""
    given = [types[name] for name in node.inputs]
    try:
        type_of(node, given)
        return [node]
    except Invalid:
        if len(read) != len(given):
            raise
    adapters: list[Node] = []
    inputs = list(node.inputs)
    for place, (has, wants) in enumerate(zip(given, read, strict=True)):
        steps = adapter(inputs[place], has, wants, names)
        adapters += steps
        inputs[place] = steps[-1].name if steps else inputs[place]
    return [*adapters, replace(node, inputs=tuple(inputs))]


def adapter(name: str, has: TensorType, wants: TensorType, names: Iterator[str]) -> list[Node]:
    """Nodes that make one type of another: cast, flatten, cut or fill up with zeros, shape."""
    nodes: list[Node] = []

    def then(operator: str, **attributes: object) -> None:
        nodes.append(Node(next(names), operator, (nodes[-1].name if nodes else name,), attributes))

    if has.dtype != wants.dtype:
        then("cast", to=wants.dtype)
    if has.shape == wants.shape:
        return nodes
    if has.size != wants.size:
        then("reshape", shape=[has.size])
        if has.size > wants.size:
            then("slice", starts=[0], sizes=[wants.size], steps=[1])
        elif wants.dtype in ("float32", "float64", "int32", "int64"):
            then("pad", mode="constant", before=[0], after=[wants.size - has.size], value=0.0)
        else:
            raise Invalid(f"nothing fills up {wants}")
    then("reshape", shape=list(wants.shape))
    return nodes


def pruned(graph: Graph) -> Graph:
    """Without nodes and leaves that no output depends on."""
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    nodes = tuple(node for node in graph.nodes if node.name in needed)
    return replace(graph, leaves={name: leaf for name, leaf in graph.leaves.items() if name in needed}, nodes=nodes)


def bounded(graph: Graph, read: Read) -> Graph:
    """The graph, if it is small enough to be quick on every framework, or no larger than what it was made of."""
    largest = max((one.size for types in read.values() for one in types), default=0)
    if len(graph.nodes) > max(MOST_NODES, len(read)):
        raise Invalid("too many nodes")
    if any(one.size > max(LARGEST, largest) for one in types_of(graph).values()):
        raise Invalid("too large")
    return graph


def checked(graph: Graph) -> Graph:
    """The graph, if it is valid; without its training if that does not fit."""
    types = types_of(graph)
    if not graph.nodes:
        raise Invalid("nothing left")
    try:
        check_training(graph, types)
    except Invalid:
        return graph.without_training()
    return graph
