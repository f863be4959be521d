"""A model of a user's as a graph of ours, and what became of each node that the user wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jostle.frameworks.graph import Graph


@dataclass(frozen=True)
class Imported:
    """A graph, with the user's nodes by their names for them."""

    graph: Graph
    origins: Mapping[str, str]  # the user's node for each of ours
    left_out: Mapping[str, str] = field(default_factory=dict)  # nodes without a counterpart, with what is lacking
    folded: int = 0  # nodes that nothing is left of: constants, arithmetic of shapes, what passes its input on
    inputs: frozenset[str] = frozenset()  # as the file calls them
    symbols: frozenset[str] = frozenset()  # names of sizes that the file leaves open


def as_it_is(graph: Graph) -> Imported:
    """A graph whose nodes are the user's."""
    return Imported(graph, {node.name: node.name for node in graph.nodes})
