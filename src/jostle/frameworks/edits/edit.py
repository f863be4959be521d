"""What an edit is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from jostle.frameworks.drawing import draw_node, leaf_for
from jostle.frameworks.graph import Graph, Invalid, Leaf, Node, fresh_names
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.operators.operator import Operator

Random = np.random.Generator
Item = TypeVar("Item")
Vocabulary = Sequence[Operator]  # what new layers are made of


class Inapplicable(Exception):
    """The graph has nothing that this edit could change."""


@dataclass(frozen=True)
class Edit:
    """One kind of mutation: makes another valid graph of a valid one, Invalid if this time it could not."""

    name: str
    meaning: str
    apply: Callable[[Graph, Random], Graph]


def one_of(items: list[Item], rng: Random) -> Item:
    if not items:
        raise Inapplicable
    return items[int(rng.integers(len(items)))]


def new_node(graph: Graph, first: str, rng: Random, vocabulary: Vocabulary) -> tuple[Node, dict[str, Leaf]]:
    """A node that reads a tensor of the graph, with the leaves it needs besides."""
    types = types_of(graph)
    operators = [one for one in vocabulary if one.accepts(types[first])]
    for _ in range(10):
        operator = one_of(operators, rng)
        try:
            node, wanted = draw_node(operator, next(fresh_names(graph, operator.name)), first, types, rng)
        except Invalid:
            continue
        return node, {name: leaf_for(one, rng) for name, one in zip(node.inputs[1:], wanted, strict=True)}
    raise Inapplicable


def rewired(graph: Graph, old: str, new: str, but: set[str]) -> Graph:
    """All that read one tensor read another, but for these nodes."""
    nodes = tuple(
        node if node.name in but else replace(node, inputs=tuple(new if name == old else name for name in node.inputs))
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, outputs=tuple(new if name == old else name for name in graph.outputs))


def inserted(graph: Graph, nodes: list[Node], leaves: dict[str, Leaf], after: str) -> Graph:
    """With these nodes right after the tensor they read."""
    place = next((number for number, node in enumerate(graph.nodes, 1) if node.name == after), 0)
    return replace(
        graph,
        leaves={**graph.leaves, **leaves},
        nodes=(*graph.nodes[:place], *nodes, *graph.nodes[place:]),
    )


def tensors(graph: Graph) -> list[str]:
    """What nodes compute, and what is given."""
    return [*(node.name for node in graph.nodes), *graph.named("input")]
