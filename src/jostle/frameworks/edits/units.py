"""Where the units of a layer are: in its own weights, and in what reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from jostle.frameworks.edits.edit import Inapplicable
from jostle.frameworks.graph import Graph, Node, TensorType
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.operators.elementwise import UNARY

ELEMENTWISE = {one.name for one in UNARY}
POOLING = {"max_pool", "avg_pool", "lp_pool", "adaptive_avg_pool", "adaptive_max_pool"}


@dataclass(frozen=True)
class UnitPlaces:
    """An axis of a leaf along which every unit has so many places of its own."""

    leaf: str
    axis: int
    each: int = 1
    weighs: bool = False  # the units as the next layer reads them


@dataclass(frozen=True)
class UnitLayer:
    """A layer whose weights belong to it alone, and all that tells its units apart, up to the next layers."""

    node: Node
    count: int
    own: tuple[UnitPlaces, ...]
    in_readers: tuple[UnitPlaces, ...] | None  # None where not all that reads the units is known


def layers_of_units(graph: Graph) -> list[UnitLayer]:
    types = types_of(graph)
    return [
        UnitLayer(
            node,
            types[node.inputs[1]].shape[0],
            tuple(UnitPlaces(name, 0) for name in node.inputs[1:]),
            _all_in_readers(graph, node, types),
        )
        for node in graph.nodes
        if node.operator in ("linear", "conv")
        and node.attributes.get("groups", 1) == 1
        and all(_is_own(graph, name) for name in node.inputs[1:])
    ]


def _is_own(graph: Graph, name: str) -> bool:
    """Whether a tensor is given, and one node reads it, once."""
    readers = graph.readers(name)
    return name in graph.leaves and name not in graph.outputs and [one.inputs.count(name) for one in readers] == [1]


def _all_in_readers(graph: Graph, node: Node, types: dict[str, TensorType]) -> tuple[UnitPlaces, ...] | None:
    axis = types[node.name].rank - 1 if node.operator == "linear" else 1
    try:
        return tuple(_in_readers(graph, UnitPlaces(node.name, axis), types))
    except Inapplicable:
        return None


def _in_readers(graph: Graph, units: UnitPlaces, types: dict[str, TensorType]) -> Iterator[UnitPlaces]:
    """The places in what reads this tensor, whose units lie along an axis; Inapplicable if one of them is not known."""
    if units.leaf in graph.outputs:
        raise Inapplicable
    for node in graph.readers(units.leaf):
        if node.inputs.index(units.leaf) or node.inputs.count(units.leaf) > 1:
            raise Inapplicable
        if not all(_is_own(graph, name) for name in node.inputs[1:]):
            raise Inapplicable
        yield from _through(graph, node, units, types)


def _through(graph: Graph, node: Node, units: UnitPlaces, types: dict[str, TensorType]) -> Iterator[UnitPlaces]:
    read = types[node.inputs[0]]
    by_linear = node.operator == "linear" and units.axis == read.rank - 1
    if by_linear or (node.operator == "conv" and units.axis == 1 and node.attributes["groups"] == 1):
        yield UnitPlaces(node.inputs[1], 1, units.each, weighs=True)
    else:
        yield from _normalised(node, units)
        yield from _in_readers(graph, UnitPlaces(node.name, units.axis, _each_after(node, units, read)), types)


def _normalised(node: Node, units: UnitPlaces) -> Iterator[UnitPlaces]:
    """The places in scales and biases between two layers."""
    if node.operator == "batch_norm":
        yield from (UnitPlaces(name, 0, units.each) for name in node.inputs[1:])
    if node.operator == "layer_norm" and units.axis >= node.attributes["axis"]:
        yield from (UnitPlaces(name, units.axis - node.attributes["axis"], units.each) for name in node.inputs[1:])


def _each_after(node: Node, units: UnitPlaces, read: TensorType) -> int:
    """How many places a unit has after a node that keeps units apart; Inapplicable after any other."""
    channels = units.axis == 1 and read.rank > 1
    if node.operator in ELEMENTWISE or node.operator == "layer_norm":
        return units.each
    if channels and node.operator in POOLING | {"batch_norm"}:
        return units.each
    if channels and node.operator == "reshape" and node.attributes["shape"] == [read.shape[0], prod(read.shape[1:])]:
        return units.each * prod(read.shape[2:])
    raise Inapplicable
