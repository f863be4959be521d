"""Edits of the structure: layers added, deleted, swapped, copied; branches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jostle.frameworks.edits.edit import (
    Edit,
    Inapplicable,
    Random,
    Vocabulary,
    inserted,
    new_node,
    one_of,
    rewired,
    tensors,
)
from jostle.frameworks.edits.repairing import adapter, read_by, repaired
from jostle.frameworks.graph import Graph, Invalid, Node, fresh_names
from jostle.frameworks.operators.all_operators import OPERATORS, types_of

COMBINERS = ("add", "mul", "maximum", "sub", "concat", "stack", "minimum")


def add_layer(vocabulary: Vocabulary, graph: Graph, rng: Random) -> Graph:
    """A new node between a tensor and all that read it."""
    after = one_of(tensors(graph), rng)
    node, leaves = new_node(graph, after, rng, vocabulary)
    grown = rewired(inserted(graph, [node], leaves, after), after, node.name, but={node.name})
    return repaired(grown, read_by(graph))


def add_several(vocabulary: Vocabulary, graph: Graph, rng: Random) -> Graph:
    for _ in range(int(rng.integers(2, 4))):
        graph = add_layer(vocabulary, graph, rng)
    return graph


def delete_layer(graph: Graph, rng: Random) -> Graph:
    """What read a node reads what the node read."""
    if len(graph.nodes) < 2:
        raise Inapplicable
    node = one_of(list(graph.nodes), rng)
    kept = replace(graph, nodes=tuple(one for one in graph.nodes if one.name != node.name))
    shorter = rewired(kept, node.name, node.inputs[0], but=set())
    return repaired(shorter, read_by(graph))


def swap_layers(graph: Graph, rng: Random) -> Graph:
    """Two nodes compute at each other's place, each with its own weights."""
    if len(graph.nodes) < 2:
        raise Inapplicable
    a, b = (graph.nodes[int(place)] for place in sorted(rng.permutation(len(graph.nodes))[:2]))
    places = {
        a.name: replace(b, name=a.name, inputs=(a.inputs[0], *_own(graph, b))),
        b.name: replace(a, name=b.name, inputs=(b.inputs[0], *_own(graph, a))),
    }
    read = read_by(graph)
    read |= {a.name: read[b.name], b.name: read[a.name]}
    return repaired(replace(graph, nodes=tuple(places.get(node.name, node) for node in graph.nodes)), read)


def _own(graph: Graph, node: Node) -> tuple[str, ...]:
    """What a node reads besides its first input; only leaves can move with it."""
    if any(name not in graph.leaves for name in node.inputs[1:]):
        raise Inapplicable
    return node.inputs[1:]


def copy_layer(graph: Graph, rng: Random) -> Graph:
    """A node once more right after itself, with the same weights."""
    node = one_of(list(graph.nodes), rng)
    if node.name in node.inputs[1:] or any(name not in graph.leaves for name in node.inputs[1:]):
        raise Inapplicable
    copy = replace(node, name=next(fresh_names(graph, node.operator)), inputs=(node.name, *node.inputs[1:]))
    grown = rewired(inserted(graph, [copy], {}, node.name), node.name, copy.name, but={copy.name})
    read = read_by(graph)
    return repaired(grown, {**read, copy.name: read[node.name]})


def add_branch(vocabulary: Vocabulary, graph: Graph, rng: Random) -> Graph:
    """Two new nodes read the same tensor; what they compute is combined."""
    after = one_of(tensors(graph), rng)
    one, leaves = new_node(graph, after, rng, vocabulary)
    with_one = inserted(graph, [one], leaves, after)
    other, more = new_node(with_one, after, rng, vocabulary)
    grown = inserted(with_one, [other], more, one.name)
    types, names = types_of(grown), fresh_names(grown, "fit")
    fitted = adapter(other.name, types[other.name], types[one.name], names)
    second = fitted[-1].name if fitted else other.name
    combiner = one_of(_combiners(grown, one.name), rng)
    attributes = {"axis": 0} if combiner in ("concat", "stack") else {}
    joined = Node(next(fresh_names(grown, combiner)), combiner, (one.name, second), attributes)
    grown = inserted(grown, [*fitted, joined], {}, other.name)
    new = {one.name, other.name, joined.name, *(node.name for node in fitted)}
    return repaired(rewired(grown, after, joined.name, but=new), read_by(graph))


def _combiners(graph: Graph, name: str) -> list[str]:
    type_ = types_of(graph)[name]
    fit = [one for one in COMBINERS if OPERATORS[one].accepts(type_)]
    return [one for one in fit if one != "stack" or type_.rank < 4]


def connect(graph: Graph, rng: Random) -> Graph:
    """An input of a node comes from another, earlier tensor."""
    place = int(rng.integers(len(graph.nodes)))
    node = graph.nodes[place]
    earlier = [*graph.named("input"), *(one.name for one in graph.nodes[:place])]
    at = int(rng.integers(len(node.inputs)))
    if node.inputs[at] in graph.leaves and graph.leaves[node.inputs[at]].role == "constant":
        raise Inapplicable  # indices and masks have values that nothing else has
    new = one_of([name for name in earlier if name != node.inputs[at]], rng)
    changed = replace(node, inputs=tuple(new if spot == at else name for spot, name in enumerate(node.inputs)))
    nodes = tuple(changed if one.name == node.name else one for one in graph.nodes)
    return repaired(replace(graph, nodes=nodes), read_by(graph))


def add_output(graph: Graph, rng: Random) -> Graph:
    """A tensor inside becomes an output too, which forbids compilers to fuse it away."""
    inner = [node.name for node in graph.nodes if node.name not in graph.outputs]
    if len(graph.outputs) > 3:
        raise Inapplicable
    name = one_of(inner, rng)
    if types_of(graph)[name].size == 0:
        raise Invalid("nothing to see")
    return replace(graph, outputs=(*graph.outputs, name))


def structure(vocabulary: Vocabulary) -> tuple[Edit, ...]:
    return (
        Edit("add layer", "a new layer between two", partial(add_layer, vocabulary)),
        Edit("add layers", "several new layers", partial(add_several, vocabulary)),
        Edit("delete layer", "a layer less", delete_layer),
        Edit("swap layers", "two layers at each other's place", swap_layers),
        Edit("copy layer", "a layer twice in a row, with the same weights", copy_layer),
        Edit("add branch", "two ways side by side, joined", partial(add_branch, vocabulary)),
        Edit("connect", "a layer reads another tensor", connect),
        Edit("add output", "a tensor inside is an output too", add_output),
    )
