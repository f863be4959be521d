"""Smaller graphs within a graph, and simpler trainings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from jostle.frameworks.edits.repairing import pruned
from jostle.frameworks.graph import INPUT, PARAMETER, Graph, Leaf, Training
from jostle.frameworks.judging.parts import Tensors, ancestors, held, part
from jostle.frameworks.operators.all_operators import types_of

Edit = Callable[[Graph], Graph]  # to a simpler graph; Invalid where it does not apply


def cuts(graph: Graph, tensors: Tensors) -> Iterator[Graph]:
    """Every node alone; without what follows a node, or what precedes it; without a node in the middle."""
    names = [node.name for node in graph.nodes]
    if len(names) > 1:
        yield from (_trained(graph, part(graph, {name}, tensors)) for name in names)
    for place, name in enumerate(names):
        yield _trained(graph, pruned(replace(graph, outputs=(name,), training=None)))
        yield _trained(graph, part(graph, names[place:], tensors))
        yield _trained(graph, part(graph, ancestors(graph, name), tensors))
        yield given(graph, name, tensors)
        yield from bypasses(graph, name)
    if len(graph.outputs) > 1:
        yield from (pruned(replace(graph, outputs=(name,))) for name in graph.outputs)


def given(graph: Graph, name: str, tensors: Tensors) -> Graph:
    """The graph in which a node's result is an input."""
    leaf = Leaf(INPUT, held(tensors[name], types_of(graph)[name]))
    nodes = tuple(node for node in graph.nodes if node.name != name)
    return pruned(replace(graph, leaves={**graph.leaves, name: leaf}, nodes=nodes))


def bypasses(graph: Graph, name: str) -> Iterator[Graph]:
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


def _trained(graph: Graph, smaller: Graph) -> Graph:
    """The smaller graph with the training of the larger one, on a target and a parameter of its own."""
    if graph.training is None:
        return smaller
    if not smaller.named(PARAMETER):
        smaller = replace(smaller, leaves=_first_trained(smaller))
    return replace(smaller, training=fitted(graph.training, smaller))


def _first_trained(graph: Graph) -> dict[str, Leaf]:
    leaves = dict(graph.leaves)
    first = next((name for name, leaf in leaves.items() if leaf.type.is_float), None)
    return leaves | ({first: replace(leaves[first], role=PARAMETER)} if first else {})


def fitted(training: Training, graph: Graph) -> Training:
    """The training with a target that fits the graph's first output."""
    type_ = types_of(graph)[graph.outputs[0]]
    if training.loss == "cross_entropy" and type_.rank >= 2:
        return replace(training, target=np.zeros(type_.shape[:1], np.int64))
    loss = "mse" if training.loss == "cross_entropy" else training.loss
    if type_.shape == training.target.shape and loss == training.loss:
        return training
    return replace(training, loss=loss, target=np.ones(type_.shape, type_.dtype))


def training_cuts(graph: Graph) -> Iterator[Edit]:
    """Fewer steps, no penalty, gradient descent, the plainest loss."""
    if graph.training is None:
        return
    simpler: list[Callable[[Training], Training]] = [
        lambda one: replace(one, steps=1),
        lambda one: replace(one, steps=min(one.steps, 2)),
        lambda one: replace(one, penalty="none", strength=0.0),
        plainly_optimised,
        lambda one: replace(one, settings={**one.settings, "rate": 1.0}),
    ]
    for change in simpler:
        yield lambda one, change=change: replace(one, training=change(one.training))  # type: ignore[misc]
    yield _plainest_loss


def plainly_optimised(training: Training) -> Training:
    """The same by gradient descent."""
    settings = {"rate": training.settings["rate"], "momentum": 0.0, "nesterov": 0.0}
    return replace(training, optimiser="sgd", settings=settings)


def _plainest_loss(graph: Graph) -> Graph:
    type_, training = types_of(graph)[graph.outputs[0]], graph.training
    if training is None or training.loss == "mse":
        return graph
    return replace(graph, training=replace(training, loss="mse", target=np.ones(type_.shape, type_.dtype)))
