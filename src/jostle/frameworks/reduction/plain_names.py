"""Plain names for the tensors of a reduced graph, which keep no memory of the model it came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jostle.frameworks.graph import INPUT, PARAMETER, Graph


def plainly_named(graph: Graph) -> Graph:
    """The same graph: inputs are x, parameters w, constants c, results y, numbered where there are several."""
    names = dict(_names(graph))
    nodes = tuple(
        replace(node, name=names[node.name], inputs=tuple(names[one] for one in node.inputs)) for node in graph.nodes
    )
    leaves = {names[name]: leaf for name, leaf in graph.leaves.items()}
    return replace(graph, leaves=leaves, nodes=nodes, outputs=tuple(names[name] for name in graph.outputs))


def _names(graph: Graph) -> Iterator[tuple[str, str]]:
    stems = {INPUT: "x", PARAMETER: "w"}
    kinds = {name: stems.get(leaf.role, "c") for name, leaf in graph.leaves.items()}
    kinds |= {node.name: "y" for node in graph.nodes}
    for stem in dict.fromkeys(kinds.values()):
        alike = [name for name, kind in kinds.items() if kind == stem]
        yield from ((name, stem if len(alike) == 1 else f"{stem}{at}") for at, name in enumerate(alike, 1))
