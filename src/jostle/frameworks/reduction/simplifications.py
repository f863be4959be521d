"""Simpler graphs of the same nodes: trainings, shapes, attributes, layouts, values and names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from jostle.frameworks.graph import INPUT, PARAMETER, Array, Graph, Invalid, Node, Training
from jostle.frameworks.operators.all_operators import OPERATORS, types_of
from jostle.frameworks.operators.operator import NEUTRAL, Choice, Drawn, Real, Whole
from jostle.frameworks.training import check_training

Simplification = Callable[[Graph], Graph]  # Invalid where it does not apply


def simpler_trainings(graph: Graph) -> Iterator[Simplification]:
    """Fewer steps, no penalty, gradient descent, the plainest loss."""
    if graph.training is None:
        return
    simpler: list[Callable[[Training], Training]] = [
        lambda one: replace(one, steps=1),
        lambda one: replace(one, steps=min(one.steps, 2)),
        lambda one: replace(one, penalty="none", strength=0.0),
        with_gradient_descent,
        lambda one: replace(one, settings={**one.settings, "rate": 1.0}),
    ]
    for change in simpler:
        yield lambda one, change=change: replace(one, training=change(one.training))  # type: ignore[misc]
    yield _plainest_loss


def with_gradient_descent(training: Training) -> Training:
    """The same by gradient descent."""
    settings = {"rate": training.settings["rate"], "momentum": 0.0, "nesterov": 0.0}
    return replace(training, optimiser="sgd", settings=settings)


def _plainest_loss(graph: Graph) -> Graph:
    type_, training = types_of(graph)[graph.outputs[0]], graph.training
    if training is None or training.loss == "mse":
        return graph
    return replace(graph, training=replace(training, loss="mse", target=np.ones(type_.shape, type_.dtype)))


def is_valid(graph: Graph) -> bool:
    """Whether every tensor has a type, and the graph can be trained as it says."""
    try:
        check_training(graph, types_of(graph))
    except Invalid:
        return False
    return True


def fitted(training: Training, graph: Graph) -> Training:
    """The training with a target that fits the graph's first output."""
    type_ = types_of(graph)[graph.outputs[0]]
    if training.loss == "cross_entropy" and type_.rank >= 2:
        return replace(training, target=np.zeros(type_.shape[:1], np.int64))
    loss = "mse" if training.loss == "cross_entropy" else training.loss
    if type_.shape == training.target.shape and loss == training.loss:
        return training
    return replace(training, loss=loss, target=np.ones(type_.shape, type_.dtype))


def simpler_shapes(graph: Graph) -> Iterator[Simplification]:
    """All axes of one size cut to 1 or to half, or one axis of one leaf."""
    sizes = sorted({size for leaf in graph.leaves.values() for size in leaf.array.shape if size > 1}, reverse=True)
    for size in sizes:
        yield from (_sizes_cut(size, less) for less in _smaller(size))
    for name, leaf in graph.leaves.items():
        for axis, size in enumerate(leaf.array.shape):
            yield from (_axis_cut(name, axis, less) for less in _smaller(size))


def _smaller(size: int) -> list[int]:
    return sorted({1, 2, size // 2, size - 1} & set(range(1, size)))


def _sizes_cut(size: int, less: int) -> Simplification:
    def simplify(graph: Graph) -> Graph:
        leaves = {
            name: replace(leaf, array=_cut(leaf.array, [less if one == size else one for one in leaf.array.shape]))
            for name, leaf in graph.leaves.items()
        }
        nodes = tuple(replace(node, attributes=_with_size(node, size, less)) for node in graph.nodes)
        return _refitted(replace(graph, leaves=leaves, nodes=nodes))

    return simplify


def _axis_cut(name: str, axis: int, less: int) -> Simplification:
    def simplify(graph: Graph) -> Graph:
        if name not in graph.leaves or graph.leaves[name].array.shape[axis] <= less:
            return graph
        leaf = graph.leaves[name]
        shape = [*leaf.array.shape[:axis], less, *leaf.array.shape[axis + 1 :]]
        return _refitted(replace(graph, leaves={**graph.leaves, name: replace(leaf, array=_cut(leaf.array, shape))}))

    return simplify


def _cut(array: Array, shape: list[int]) -> Array:
    return array[tuple(slice(size) for size in shape)].copy()


def _with_size(node: Node, size: int, less: int) -> dict[str, Any]:
    """Shapes among the attributes follow the sizes of what they shape."""
    shapes = {"shape", "sizes"} & node.attributes.keys()
    return dict(node.attributes) | {
        name: [less if one == size else one for one in node.attributes[name]] for name in shapes
    }


def _refitted(graph: Graph) -> Graph:
    return graph if graph.training is None else replace(graph, training=fitted(graph.training, graph))


def simpler_attributes(graph: Graph) -> Iterator[Simplification]:
    """Every attribute to the plainest value of its domain, lists also one number at a time."""
    for node in graph.nodes:
        for name, value in node.attributes.items():
            for simpler in _simpler(node, name, value):
                yield _attribute_set(node.name, name, simpler)


def _simpler(node: Node, name: str, value: Any) -> Iterator[Any]:
    domain = OPERATORS[node.operator].domains[name]
    if isinstance(domain, Choice | Real):
        plainest = domain.values[0] if isinstance(domain, Choice) else domain.usual[0]
        yield from [plainest] if value != plainest else []
    elif isinstance(value, list) and name not in ("axes", "permutation", "shape"):
        plain = NEUTRAL.get(name, 1)
        yield [plain] * len(value)
        yield from ([*value[:place], plain, *value[place + 1 :]] for place, one in enumerate(value) if one != plain)
    elif isinstance(domain, Whole | Drawn) and isinstance(value, int):
        yield from {NEUTRAL.get(name, 0), 1, 0} - {value}


def _attribute_set(node_name: str, name: str, value: Any) -> Simplification:
    def simplify(graph: Graph) -> Graph:
        nodes = tuple(
            replace(node, attributes={**node.attributes, name: value}) if node.name == node_name else node
            for node in graph.nodes
        )
        return _refitted(replace(graph, nodes=nodes))

    return simplify


def simpler_layouts(graph: Graph) -> Iterator[Simplification]:
    """Arrays as they usually lie in memory, nodes as they are usually written."""
    for name, leaf in graph.leaves.items():
        if leaf.layout != "contiguous":
            yield _leaf_set(name, layout="contiguous")
        if leaf.role == PARAMETER:
            yield _leaf_set(name, role="input")
    for node in graph.nodes:
        if node.style != "plain":
            yield _plainly_styled(node.name)


def _leaf_set(name: str, **facts: Any) -> Simplification:
    def simplify(graph: Graph) -> Graph:
        if name not in graph.leaves:
            return graph
        return replace(graph, leaves={**graph.leaves, name: replace(graph.leaves[name], **facts)})

    return simplify


def _plainly_styled(name: str) -> Simplification:
    return lambda graph: replace(
        graph, nodes=tuple(replace(node, style="plain") if node.name == name else node for node in graph.nodes)
    )


def simpler_values(graph: Graph) -> Iterator[Simplification]:
    """The numbers of a leaf to 0, 1, whole numbers, or few digits; the first that can be wins."""
    for name, leaf in graph.leaves.items():
        if leaf.array.size and leaf.array.dtype != np.bool_:
            yield from (_values_set(name, simpler) for simpler in SIMPLER)
    if graph.training is not None and graph.training.target.dtype.kind == "f":
        yield _plain_target


def _values_set(name: str, simpler: Callable[[Array], Array]) -> Simplification:
    def simplify(graph: Graph) -> Graph:
        if name not in graph.leaves:
            return graph
        array = graph.leaves[name].array
        with np.errstate(invalid="ignore"):
            values = simpler(array).astype(array.dtype)
        if _plainness(values) >= _plainness(array):
            raise Invalid("it is as simple already")
        return replace(graph, leaves={**graph.leaves, name: replace(graph.leaves[name], array=values)})

    return simplify


def _plainness(array: Array) -> int:
    """The length of its numbers as they are written: less is plainer."""
    return sum(len(f"{value:g}") for value in np.unique(array).tolist()) + sum(len(str(v)) for v in array.ravel()[:50])


SIMPLER: tuple[Callable[[Array], Array], ...] = (
    lambda array: np.zeros_like(array),
    lambda array: np.ones_like(array),
    lambda array: np.arange(array.size).reshape(array.shape) % 5,
    lambda array: np.rint(array) if array.dtype.kind == "f" else np.sign(array),
    lambda array: np.round(array, 1) if array.dtype.kind == "f" else array,
    lambda array: np.round(array, 3) if array.dtype.kind == "f" else array,
)


def _plain_target(graph: Graph) -> Graph:
    training = graph.training
    if training is None:
        return graph
    return replace(graph, training=replace(training, target=np.ones_like(training.target)))


def plainly_named(graph: Graph) -> Graph:
    """The same graph: inputs are x, parameters w, constants c, results y, numbered where there are several."""
    names = dict(_plain_names(graph))
    nodes = tuple(
        replace(node, name=names[node.name], inputs=tuple(names[one] for one in node.inputs)) for node in graph.nodes
    )
    leaves = {names[name]: leaf for name, leaf in graph.leaves.items()}
    return replace(graph, leaves=leaves, nodes=nodes, outputs=tuple(names[name] for name in graph.outputs))


def _plain_names(graph: Graph) -> Iterator[tuple[str, str]]:
    stems = {INPUT: "x", PARAMETER: "w"}
    kinds = {name: stems.get(leaf.role, "c") for name, leaf in graph.leaves.items()}
    kinds |= {node.name: "y" for node in graph.nodes}
    for stem in dict.fromkeys(kinds.values()):
        alike = [name for name, kind in kinds.items() if kind == stem]
        yield from ((name, stem if len(alike) == 1 else f"{stem}{at}") for at, name in enumerate(alike, 1))
